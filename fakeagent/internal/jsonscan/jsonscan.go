// Package jsonscan finds where values stand in a text that is valid JSON. encoding/json can neither tell two equal keys from one nor say where a
// value stands. In what is no JSON nothing is found that means anything, but the search comes to its end.
package jsonscan

// Text is what may be looked through.
type Text interface{ ~string | ~[]byte }

// First is the byte at a place, 0 behind the end.
func First[T Text](text T, i int) byte {
	if i < len(text) {
		return text[i]
	}
	return 0
}

// Space is where something else than white space stands.
func Space[T Text](text T, i int) int {
	for i < len(text) && (text[i] == ' ' || text[i] == '\n' || text[i] == '\t' || text[i] == '\r') {
		i++
	}
	return i
}

// Comma is where the next member or element stands, or the closing bracket, behind the end of one.
func Comma[T Text](text T, i int) int {
	if i = Space(text, i); First(text, i) == ',' {
		i = Space(text, i+1)
	}
	return i
}

// Colon is where the value of a member stands, behind the end of its key.
func Colon[T Text](text T, i int) int { return min(Space(text, Space(text, i)+1), len(text)) }

// Past is the index behind the value that begins at i.
func Past[T Text](text T, i int) int {
	switch First(text, i) {
	case '"':
		return quoted(text, i)
	case '{', '[':
		return Closing(text, i+1)
	}
	i++ // also where there is none, so that whoever looks at all of them comes to an end
	for i < len(text) && text[i] != ',' && text[i] != '}' && text[i] != ']' && text[i] > ' ' {
		i++
	}
	return min(i, len(text))
}

// quoted is the index behind the string that begins at i.
func quoted[T Text](text T, i int) int {
	for i++; i < len(text); i++ {
		switch text[i] {
		case '"':
			return i + 1
		case '\\':
			i++
		}
	}
	return len(text)
}

// Closing is the index behind the bracket that closes what was opened before i.
func Closing[T Text](text T, i int) int {
	for depth := 1; i < len(text); i++ {
		switch text[i] {
		case '"':
			for i++; i < len(text) && text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return len(text)
}
