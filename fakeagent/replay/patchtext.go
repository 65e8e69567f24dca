package replay

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"io"
	"math/bits"
	"strings"
)

// patched is what a patch has of the content of a file: that before, or that after.
type patched struct{ file, text string }

// patchTexts are the texts in a patch of Git: its lines, but for ids and binary hunks, and what those have packed. Of a delta that is only what
// it inserts. A hunk that is damaged counts as lines.
func patchTexts(patch string) (lines string, contents []patched) {
	var b strings.Builder
	file := ""
	for patch != "" {
		var line string
		line, patch, _ = strings.Cut(patch, "\n")
		if !strings.HasPrefix(line, "index ") {
			b.WriteString(line + "\n")
		}
		if both, ok := strings.CutPrefix(line, "diff --git "); ok {
			file = strings.TrimPrefix(both[:len(both)/2], "a/") // the other half is the same one, for renames are written as two files
		}
		kind, _, _ := strings.Cut(line, " ")
		if kind != "literal" && kind != "delta" {
			continue
		}
		if packed, rest, ok := unarmoured(patch); ok {
			patch = rest
			contents = append(contents, patched{file, unpacked(packed, kind == "delta")})
		}
	}
	return b.String(), contents
}

// base85 are the digits of Git, which are not those of encoding/ascii85.
const base85 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~"

var base85Values = func() (values [256]int) {
	for i := range values {
		values[i] = strings.IndexByte(base85, byte(i))
	}
	return values
}()

// unarmoured are the bytes of a binary hunk, up to the empty line at its end. The first character of each line is how many bytes it has.
func unarmoured(patch string) (data []byte, rest string, ok bool) {
	for {
		var line string
		line, patch, ok = strings.Cut(patch, "\n")
		if !ok || line == "" {
			return data, patch, ok
		}
		n := strings.IndexByte(base85[10:62], line[0]) + 1
		if n == 0 || len(line) != 1+(n+3)/4*5 {
			return nil, "", false
		}
		begin := len(data)
		for digits := line[1:]; digits != ""; digits = digits[5:] {
			word := uint64(0)
			for i := range 5 {
				value := base85Values[digits[i]]
				if value < 0 {
					return nil, "", false
				}
				word = word*85 + uint64(value)
			}
			data = binary.BigEndian.AppendUint32(data, uint32(word))
		}
		data = data[:begin+n]
	}
}

// unpacked is the content of a binary hunk, or of as much of it as can be unpacked.
func unpacked(packed []byte, delta bool) string {
	const most = 16 << 20 // a few bytes may unpack to any length
	r, err := zlib.NewReader(bytes.NewReader(packed))
	if err != nil {
		return ""
	}
	data, _ := io.ReadAll(io.LimitReader(r, most))
	if delta {
		data = inserted(data)
	}
	return string(data)
}

// inserted is what a delta inserts. What it copies from the file before is a line feed.
func inserted(delta []byte) (text []byte) {
	for range 2 { // the lengths of both files
		_, n := binary.Uvarint(delta)
		delta = delta[max(n, 0):]
	}
	for len(delta) > 0 {
		op := delta[0]
		n := min(len(delta), 1+int(op)) // of an insertion
		if op < 0x80 {
			text = append(text, delta[1:n]...)
		} else {
			n = min(len(delta), 1+bits.OnesCount8(op&0x7f)) // each bit is a byte of the place or of the length
			text = append(text, '\n')
		}
		delta = delta[n:]
	}
	return text
}
