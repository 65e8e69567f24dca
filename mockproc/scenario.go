package mockproc

import (
	"bytes"
	"cmp"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/understudy-go/understudy/fakeagent/script"
	"github.com/understudy-go/understudy/mockproc/acp"
)

// Scenario is what an agent's process does: what it plays, and how it ends. It is a JSON file:
//
//	{
//	  "name":      "flaky",
//	  "handshake": {"initializeMs": 0, "newSessionMs": 100},
//	  "profile":   "plain",
//	  "dialect":   "acp",
//	  "faults":    ["earlyUpdate"],
//	  "ignore":    ["SIGTERM"],
//	  "afterTurn": "stay",
//	  "routes":    [{"when": {"attempt": 1}, "steps": [{"fail": {"message": "rate limit", "code": 429}}]}],
//	  "turns":     [{"steps": [{"say": "done"}]}]
//	}
//
// Turns and routes are those of a [script.File], for each session anew; a prompt that carries a script plays that. Without either it is the
// scenario happy, with what is set of the rest, if it has no name, as the zero value; with one, as each file has, it plays what each prompt
// carries, as [fakeagent.Scripted] does.
type Scenario struct {
	Name      string
	Handshake Handshake
	Profile   acp.Profile // "" is plain
	Faults    []Fault
	Ignore    []string // EOF: stdin that ends does not end the process; SIGTERM: that signal does not
	AfterTurn string   // stay, which "" is, or exit: with 0 after a turn that completed, with 1 after one that failed; one that was canceled stays
	script.File
}

// Handshake is how long the first answers take.
type Handshake struct {
	Initialize time.Duration
	NewSession time.Duration
}

// Fault is something that goes wrong outside of what a script can say.
type Fault string

const (
	// OpenAfterExit leaves stdout and stderr open when the process has exited, as a grandchild does that has inherited them. They end with
	// the test.
	OpenAfterExit Fault = "openAfterExit"
	// SameSessionID gives every session of a process the same id.
	SameSessionID Fault = "sameSessionId"
	// EarlyUpdate tells of the agent's commands before session/new is answered.
	EarlyUpdate Fault = "earlyUpdate"
	// AuthRequired refuses sessions until the client has called authenticate.
	AuthRequired Fault = "authRequired"
)

const (
	dialect       = "acp"
	ignoreEOF     = "EOF"
	ignoreSIGTERM = "SIGTERM"
	stay          = "stay"
	exitAfterTurn = "exit"
)

var (
	faults  = []Fault{AuthRequired, EarlyUpdate, OpenAfterExit, SameSessionID}
	ignored = []string{ignoreEOF, ignoreSIGTERM}
)

// ParseScenario reads the file of a scenario. It is as strict as [script.Parse], with the same type of error.
func ParseScenario(data []byte) (Scenario, error) {
	var s Scenario
	profile := string(acp.Plain)
	file, err := script.ParseFile(data,
		script.Field{Key: "name", Read: text(&s.Name)},
		script.Field{Key: "handshake", Read: s.Handshake.read},
		script.Field{Key: "profile", Read: choice(&profile, string(acp.Plain), string(acp.Seed))},
		script.Field{Key: "dialect", Read: choice(new(string), dialect)},
		script.Field{Key: "faults", Read: choices(&s.Faults, faults)},
		script.Field{Key: "ignore", Read: choices(&s.Ignore, ignored)},
		script.Field{Key: "afterTurn", Read: choice(&s.AfterTurn, stay, exitAfterTurn)},
	)
	if err != nil {
		return Scenario{}, err
	}
	if s.File = file; s.Name == "" {
		begin := len(data) - len(bytes.TrimLeft(data, " \t\r\n"))
		return Scenario{}, script.ErrorAt(data, begin, "name is missing")
	}
	if profile != string(acp.Plain) {
		s.Profile = acp.Profile(profile)
	}
	return s, nil
}

// text reads a string that is not empty.
func text(dst *string) func([]byte) error {
	return func(raw []byte) error {
		if json.Unmarshal(raw, dst) != nil || *dst == "" {
			return fmt.Errorf("must be a string that is not empty, is %.40s", raw)
		}
		return nil
	}
}

func choice(dst *string, known ...string) func([]byte) error {
	return func(raw []byte) error {
		var s string
		if json.Unmarshal(raw, &s) != nil || !slices.Contains(known, s) {
			return unknown(s, raw, known)
		}
		*dst = s
		return nil
	}
}

func choices[S ~string](dst *[]S, known []S) func([]byte) error {
	return func(raw []byte) error {
		var list []json.RawMessage
		if json.Unmarshal(raw, &list) != nil || list == nil {
			return fmt.Errorf("must be an array of names, is %.40s", raw)
		}
		names := make([]string, len(known))
		for i, k := range known {
			names[i] = string(k)
		}
		for _, raw := range list {
			var s string
			if err := choice(&s, names...)(raw); err != nil {
				return err
			}
			*dst = append(*dst, S(s))
		}
		return nil
	}
}

func unknown(s string, raw []byte, known []string) error {
	if s == "" || len(known) == 1 {
		return fmt.Errorf("must be %s, is %.40s", strings.Join(known, " or "), raw)
	}
	if nearest, changes := script.Nearest(s, known); changes <= 2 {
		return fmt.Errorf("has %q, did you mean %q? There are %s", s, nearest, strings.Join(known, ", "))
	}
	return fmt.Errorf("has %q; there are %s", s, strings.Join(known, ", "))
}

// keys of a handshake.
const (
	initializeMs = "initializeMs"
	newSessionMs = "newSessionMs"
)

func (h *Handshake) read(raw []byte) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	if t, _ := d.Token(); t != json.Delim('{') {
		return fmt.Errorf("must be an object with %s and %s, is %.40s", initializeMs, newSessionMs, raw)
	}
	left := map[string]*time.Duration{initializeMs: &h.Initialize, newSessionMs: &h.NewSession}
	for d.More() {
		t, _ := d.Token() // it was parsed before, so there is no error
		key, _ := t.(string)
		var value json.RawMessage
		_ = d.Decode(&value)
		switch dst, ok := left[key]; {
		case ok && dst == nil:
			return fmt.Errorf("has %q twice", key)
		case ok:
			ms, err := strconv.ParseFloat(string(value), 64)
			if err != nil || ms < 0 || ms != math.Trunc(ms) || ms > float64(longest) {
				return fmt.Errorf("has %s, which must be a whole number of milliseconds, 0 or more, is %.40s", key, value)
			}
			*dst, left[key] = time.Duration(ms)*time.Millisecond, nil
		default:
			nearest, _ := script.Nearest(key, []string{initializeMs, newSessionMs})
			return fmt.Errorf("has the unknown key %q, did you mean %q?", key, nearest)
		}
	}
	return nil
}

// longest is how many milliseconds a handshake may take: a thousand years, of which a float64 knows each one.
const longest = 1000 * 365 * 24 * int64(time.Hour/time.Millisecond)

// write has the members of a handshake that are set.
func (h Handshake) write() (map[string]int64, error) {
	out := map[string]int64{}
	for key, d := range map[string]time.Duration{initializeMs: h.Initialize, newSessionMs: h.NewSession} {
		if d%time.Millisecond != 0 {
			return nil, fmt.Errorf("handshake has %s, which must be a whole number of milliseconds, 0 or more, is %v", key, d)
		}
		if d != 0 {
			out[key] = d.Milliseconds()
		}
	}
	return out, nil
}

// UnmarshalJSON is [ParseScenario] for encoding/json.
func (s *Scenario) UnmarshalJSON(data []byte) error {
	out, err := ParseScenario(data)
	if err == nil {
		*s = out
	}
	return err
}

// MarshalJSON is the file of the scenario. One that [ParseScenario] would refuse is an error.
func (s Scenario) MarshalJSON() ([]byte, error) {
	s, err := s.named()
	if err != nil {
		return nil, err
	}
	b, err := s.write()
	if err != nil {
		return nil, fmt.Errorf("mockproc: scenario %s: %w", s.Name, err)
	}
	return b, nil
}

func (s Scenario) write() ([]byte, error) {
	if !utf8.ValidString(s.Name) {
		return nil, fmt.Errorf("name must be valid UTF-8, is %q", s.Name)
	}
	handshake, err := s.Handshake.write()
	if err != nil {
		return nil, err
	}
	head, err := toJSON(struct {
		Name      string           `json:"name"`
		Handshake map[string]int64 `json:"handshake,omitempty"`
		Profile   acp.Profile      `json:"profile,omitempty"`
		Faults    []Fault          `json:"faults,omitempty"`
		Ignore    []string         `json:"ignore,omitempty"`
		AfterTurn string           `json:"afterTurn,omitempty"`
	}{s.Name, handshake, s.Profile, s.Faults, s.Ignore, s.AfterTurn})
	if err != nil {
		return nil, err
	}
	if _, err := ParseScenario(head); err != nil { // what was made in Go is held to the same rules, and then it has no place
		return nil, &script.Error{Reason: err.Error()}
	}
	if !s.plays() {
		return head, nil
	}
	file, err := s.File.MarshalJSON()
	if err != nil {
		return nil, err
	}
	return append(append(head[:len(head)-1], ','), file[1:]...), nil
}

// toJSON leaves <, > and & as they are: escaped, they would make a scenario longer, perhaps too long.
func toJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	to := json.NewEncoder(&b)
	to.SetEscapeHTML(false)
	err := to.Encode(v)
	return bytes.TrimSpace(b.Bytes()), err
}

//go:embed scenarios
var embedded embed.FS

// Scenarios are the names that [Named] knows, sorted. Those that begin with seed/ are the origin's, in its profile.
func Scenarios() (names []string) {
	_ = fs.WalkDir(embedded, ".", func(path string, _ fs.DirEntry, _ error) error {
		if name, ok := strings.CutSuffix(path, ".json"); ok {
			names = append(names, strings.TrimPrefix(name, "scenarios/"))
		}
		return nil
	})
	slices.Sort(names)
	return names
}

// unknownName says what there is, and what was meant.
func unknownName(name string) string {
	names := Scenarios()
	if nearest, changes := script.Nearest(name, names); changes <= 2 {
		return fmt.Sprintf(", did you mean %q? There are %s", nearest, strings.Join(names, ", "))
	}
	return "; use " + strings.Join(names, ", ")
}

// ReadScenario reads the file of a scenario. Its errors begin with the file, the line and the column.
func ReadScenario(file string) (Scenario, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return Scenario{}, fmt.Errorf("mockproc: %w", err)
	}
	s, err := ParseScenario(data)
	if e := (*script.Error)(nil); errors.As(err, &e) {
		return s, fmt.Errorf("%s:%d:%d: %w", file, e.Line, e.Column, err)
	}
	return s, err
}

// Named is a scenario that comes with the kit. They are files, in the folder scenarios of this package.
func Named(name string) (Scenario, error) {
	data, err := embedded.ReadFile("scenarios/" + name + ".json")
	if err != nil {
		return Scenario{}, fmt.Errorf("mockproc: there is no scenario %q%s", name, unknownName(name))
	}
	s, err := ParseScenario(data)
	if err != nil {
		return Scenario{}, fmt.Errorf("mockproc: scenario %s: %w", name, err)
	}
	return s, nil
}

// Scripted is the scenario that plays the script a prompt carries, or the agent's .fake-agent.json; see [fakeagent.Scripted].
func Scripted() Scenario { return Scenario{Name: scripted} }

const scripted = "scripted"

// Turns is the scenario that plays these scripts, turn by turn; the last one repeats.
func Turns(scripts ...script.Script) Scenario {
	return Scenario{Name: "turns", File: script.File{Turns: scripts}}
}

// named is the scenario, with what happy says in the place of nothing.
func (s Scenario) named() (Scenario, error) {
	switch {
	case s.Name != "":
		return s, nil
	case s.plays():
		s.Name = "turns"
		return s, nil
	}
	name := "happy"
	if s.Profile == acp.Seed {
		name = "seed/happy"
	}
	happy, err := Named(name)
	happy.Profile, happy.Faults, happy.Ignore = s.Profile, s.Faults, s.Ignore
	happy.AfterTurn = cmp.Or(s.AfterTurn, happy.AfterTurn)
	happy.Handshake.Initialize = cmp.Or(s.Handshake.Initialize, happy.Handshake.Initialize)
	happy.Handshake.NewSession = cmp.Or(s.Handshake.NewSession, happy.Handshake.NewSession)
	return happy, err
}

// resolved is the scenario as it is played. One that was made in Go is held to the rules of those in files.
func (s Scenario) resolved() (Scenario, error) {
	if reflect.DeepEqual(s, Scripted()) { // of which there is nothing to look at, while a host waits for the agent to start
		return s, nil
	}
	if !s.plays() && s.Name != scripted && slices.Contains(Scenarios(), s.Name) {
		return s, fmt.Errorf("mockproc: scenario %s: there are neither turns nor routes; the one that comes with the kit is Named(%q)", s.Name, s.Name)
	}
	s, err := s.named()
	if err == nil {
		_, err = s.MarshalJSON()
	}
	return s, err
}

// plays says that it has scripts of its own.
func (s Scenario) plays() bool { return len(s.Turns) > 0 || len(s.Routes) > 0 }

func (s Scenario) has(f Fault) bool         { return slices.Contains(s.Faults, f) }
func (s Scenario) ignores(what string) bool { return slices.Contains(s.Ignore, what) }
