// Package golden keeps what a test expects in sections of txtar files. It is what matchers.MatchGolden and timelinekit.Scenarios have in
// common: how a timeline is written down, what is left out of it, how it is compared, and how a file is rewritten.
//
// # The flag
//
// A test binary that links this package has the flag -understudy.update:
//
//	go test ./mypackage -understudy.update
//
// It does not change what fails. Whatever fails because it differs from a section rewrites that section on its way, and says so; the next
// run passes without the flag. So nothing is rewritten by what matches, by what is expected not to match, or while Eventually still tries.
// Look at what has changed before you commit it.
package golden

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"golang.org/x/tools/txtar"
)

var update = flag.Bool("understudy.update", false, "rewrite the sections of golden files and scenarios that differ, and fail a last time")

// Update says that the flag -understudy.update is set.
func Update() bool { return *update }

// File is a txtar file: prose, and sections.
type File struct {
	Path     string
	Prose    string // what stands above the first section
	Sections []Section
}

// Section is a part of a file. Its text is empty or ends with a newline.
type Section struct {
	Name string
	Text string
	Line int // of its head in the file, from 1
}

// Read reads a file. Two sections of one name are an error. A file whose lines all end with CRLF, as Git may have made them, is read as if
// they did not.
func Read(path string) (File, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return File{}, err
	}
	return parse(path, data)
}

func parse(path string, data []byte) (File, error) {
	text := string(data)
	if crlf(text) {
		text = strings.ReplaceAll(text, "\r\n", "\n")
	}
	archive := txtar.Parse([]byte(text))
	f := File{Path: path, Prose: string(archive.Comment)}
	line := 1 + strings.Count(f.Prose, "\n")
	for _, a := range archive.Files {
		if other, ok := f.Section(a.Name); ok {
			return File{}, fmt.Errorf("%s:%d: there is a section %s already, in line %d; give each its own name", path, line, a.Name, other.Line)
		}
		s := Section{Name: a.Name, Text: string(a.Data), Line: line}
		f.Sections = append(f.Sections, s)
		line += 1 + strings.Count(s.Text, "\n")
	}
	return f, nil
}

// crlf says that all lines of a text end with CRLF.
func crlf(text string) bool {
	n := strings.Count(text, "\r\n")
	return n > 0 && n == strings.Count(text, "\n")
}

// Section is the one of that name.
func (f File) Section(name string) (s Section, ok bool) {
	for _, s := range f.Sections {
		if s.Name == name {
			return s, true
		}
	}
	return Section{}, false
}

// rewriting makes one change of a file come after another.
var rewriting sync.Mutex

// Rewrite sets the texts of sections. It adds those that the file does not have at its end, and makes the file if there is none. All else
// stays as it is, byte for byte. Nobody ever sees half of it, and goroutines may rewrite sections of one file at the same time. Of two
// processes that do so, one may undo what the other did.
func Rewrite(path string, sections ...Section) error {
	rewriting.Lock()
	defer rewriting.Unlock()
	data, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, s := range sections {
		if data, err = set(path, data, s); err != nil {
			return err
		}
	}
	return replace(path, data)
}

// set is the file with another text of one section.
func set(path string, data []byte, s Section) ([]byte, error) {
	if inside := txtar.Parse([]byte(s.Text)).Files; len(inside) > 0 {
		return nil, fmt.Errorf("%s: section %s cannot be written: its line %q would begin another section", path, s.Name, "-- "+inside[0].Name+" --")
	}
	f, err := parse(path, data)
	if err != nil {
		return nil, err
	}
	lines := strings.SplitAfter(string(data), "\n")
	newline := "\n"
	if crlf(string(data)) {
		newline = "\r\n"
	}
	ended := func(text string) string {
		if text == "" || strings.HasSuffix(text, "\n") {
			return text
		}
		return text + newline
	}
	head, tail := ended(string(data))+"-- "+s.Name+" --"+newline, ""
	if old, ok := f.Section(s.Name); ok {
		head = ended(strings.Join(lines[:old.Line], ""))
		tail = strings.Join(lines[old.Line+strings.Count(old.Text, "\n"):], "")
	}
	return []byte(head + ended(strings.ReplaceAll(s.Text, "\n", newline)) + tail), nil
}

// replace puts a new file in the place of the old one, at once.
func replace(path string, data []byte) error {
	mode := fs.FileMode(0o644)
	if info, err := os.Stat(path); err == nil {
		mode = info.Mode().Perm()
	} else if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), ".understudy-*")
	if err != nil {
		return err
	}
	_, err = tmp.Write(data)
	err = errors.Join(err, tmp.Chmod(mode), tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(tmp.Name()))
	}
	return nil
}
