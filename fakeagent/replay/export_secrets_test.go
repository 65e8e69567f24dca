package replay

import "encoding/json"

var (
	FindSecrets = findSecrets
	RedactEntry = redactEntry
	PatchTexts  = patchTexts
)

// FileName is that of a file in a patch.
func (p patched) FileName() string { return p.file }

// Text is the content.
func (p patched) Text() string { return p.text }

// SecretTexts are the texts for which FindSecrets has a finding.
func SecretTexts(e Entry) (all []string) {
	var s secretSearch
	if json.Valid(e) {
		s.json(nil, string(e))
	} else {
		s.text(nil, string(e))
	}
	for _, h := range s.hits {
		all = append(all, h.secret)
	}
	return all
}
