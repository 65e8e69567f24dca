package fakeagent

import (
	"embed"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/understudy-go/understudy/fakeagent/script"
)

//go:embed presets
var presetFiles embed.FS

// presets are the files of scripts that have a name, read when first needed.
var presets sync.Map // by name: func() (script.File, error)

// preset is the file of a script that has a name. There are a few that only a setting or a prompt picks.
func preset(name string) (script.File, error) {
	data, err := presetFiles.ReadFile("presets/" + name + ".json")
	if err != nil {
		return script.File{}, err
	}
	read, _ := presets.LoadOrStore(name, sync.OnceValues(func() (script.File, error) { return script.ParseFile(data) }))
	return read.(func() (script.File, error))()
}

// lane is the word of a prompt that says what the turn plays. The first one counts.
var lane = regexp.MustCompile(`\blane:([a-z]+)`)

// scriptNames are the scripts that have one.
var scriptNames = []string{"plain", "approval-tool", "async-question", "stream", "replay", "mcp-send", "visualize", "lane", "steps"}

// file is the file of scripts that the config names, for a prompt.
func (cfg Config) file() (func(prompt string) (script.File, error), error) {
	always := func(f script.File, err error) (func(string) (script.File, error), error) {
		return func(string) (script.File, error) { return f, nil }, err
	}
	switch name := cfg.Script; {
	case name == "lane":
		return func(prompt string) (script.File, error) {
			if m := lane.FindStringSubmatch(prompt); m != nil {
				if f, err := preset("lane-" + m[1]); err == nil {
					return f, nil
				}
			}
			return preset("lane-plain")
		}, nil
	case name == "":
		return always(preset("plain"))
	case name == "approval-tool" && cfg.OpenBothApprovals:
		return always(preset("approval-tool-both"))
	case strings.HasSuffix(name, ".json"):
		data, err := os.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("fakeagent: Script: %w; give the path of a file of scripts, or one of %s", err, strings.Join(scriptNames, ", "))
		}
		f, err := script.ParseFile(data)
		if e := (*script.Error)(nil); errors.As(err, &e) {
			return nil, fmt.Errorf("fakeagent: Script: %s:%d:%d: %w", name, e.Line, e.Column, err)
		}
		return always(f, nil)
	case slices.Contains(scriptNames, name):
		return always(preset(name))
	default:
		hint := "; use"
		if nearest, changes := script.Nearest(name, scriptNames); changes <= 2 {
			hint = fmt.Sprintf(", did you mean %q? There are", nearest)
		}
		return nil, fmt.Errorf("fakeagent: unknown script %q%s %s, or the path of a file that ends in .json", name, hint, strings.Join(scriptNames, ", "))
	}
}
