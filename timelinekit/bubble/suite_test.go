package bubble_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/e2e/leak"
	"github.com/understudy-go/understudy/timelinekit/bubble"
)

func TestBubble(t *testing.T) {
	if test, ok := plain[stage]; ok {
		test(t)
		return
	}
	suiteT = t
	var decorators []any
	switch stage {
	case "forgotten":
	case "whole suite":
		decorators = append(decorators, bubble.InBubble)
		fallthrough
	default:
		bubble.Suite(t)
	}
	RegisterFailHandler(Fail)
	RunSpecs(t, "Virtual time", decorators...)
}

var suiteT *testing.T

// What the package is for are specs that fail, and bubbles that would take the program with them. Such specs are plays: they run in a process
// of their own, which is this program again, with the name of the play in its environment. The specs read its report.
const stageVar = "UNDERSTUDY_BUBBLE_PLAY"

var stage = os.Getenv(stageVar)

// Bubbles that are stuck on purpose leave goroutines behind.
var _ = stage != "" || leak.Check()

func init() {
	if stage != "" {
		bubble.StallAfter(300 * time.Millisecond)
	}
}

// play is a container of specs that are for another process only.
func play(name string, args ...any) bool {
	return stage != name || Describe(name, append(args, Label("play"))...)
}

// plain are tests without Ginkgo for another process.
var plain = map[string]func(*testing.T){}

// played is what came of a play.
type played struct {
	name   string
	report Report
	output string
	err    error // of the process
}

// perform runs a play for a spec, and fails when its process dies.
func perform(name string, flags ...string) played {
	GinkgoHelper()
	p := stagePlay(GinkgoT().TempDir(), name, flags...)
	if plain[name] == nil && p.report.SuiteDescription == "" {
		Fail("the process of the play has died:\n" + p.output)
	}
	return p
}

// stagePlay runs a play.
func stagePlay(dir, name string, flags ...string) played {
	file := filepath.Join(dir, "report.json")
	cmd := exec.Command(os.Args[0], append([]string{"-test.run=^TestBubble$", "-test.timeout=2m", "-ginkgo.no-color", "-ginkgo.json-report=" + file,
		"-ginkgo.label-filter=play"}, flags...)...)
	cmd.Env = append(os.Environ(), stageVar+"="+name)
	output, err := cmd.CombinedOutput()
	p := played{name: name, output: string(output), err: err}
	var reports []Report
	if data, err := os.ReadFile(file); err == nil && json.Unmarshal(data, &reports) == nil && len(reports) == 1 {
		p.report = reports[0]
	}
	return p
}

// spec returns the report of the only spec whose text ends like this.
func (p played) spec(text string) SpecReport {
	GinkgoHelper()
	var found []SpecReport
	for _, r := range p.report.SpecReports {
		if strings.HasPrefix(r.FullText(), p.name) && strings.HasSuffix(r.FullText(), text) {
			found = append(found, r)
		}
	}
	Expect(found).To(HaveLen(1), "specs %q in\n%s", text, p.output)
	return found[0]
}

// messages are all failures of a spec, the first one first.
func messages(r SpecReport) (out []string) {
	if r.Failure.Message != "" {
		out = append(out, r.Failure.Message)
	}
	for _, f := range r.AdditionalFailures {
		out = append(out, f.Failure.Message)
	}
	return out
}

// note writes into the spec's report where a node runs, and when.
func note(what string) {
	AddReportEntry(what, ReportEntryVisibilityNever, where()+" "+when())
}

// where is the bubble that the caller is in.
func where() string {
	head := make([]byte, 200)
	line, _, _ := strings.Cut(string(head[:runtime.Stack(head, false)]), "\n")
	if _, name, found := strings.Cut(line, "synctest "); found {
		return strings.TrimSuffix(name, "]:")
	}
	return "outside"
}

// when is the time since the bubble began, or "now" outside of one.
func when() string {
	if where() == "outside" {
		return "now"
	}
	return time.Since(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)).String()
}

// notes are those of a spec, in order, with the bubbles that occur called A, B, and so on.
func notes(reports ...SpecReport) (out []string) {
	letters := map[string]string{"outside": "outside"}
	for _, r := range reports {
		for _, e := range r.ReportEntries {
			var value string
			Expect(json.Unmarshal([]byte(e.Value.AsJSON), &value)).To(Succeed())
			name, at, _ := strings.Cut(value, " ")
			if n, t, found := strings.Cut(at, " "); found {
				name, at = name+" "+n, t
			}
			if letters[name] == "" {
				letters[name] = string(rune('A' + len(letters) - 1))
			}
			out = append(out, fmt.Sprintf("%s %s %s", e.Name, letters[name], at))
		}
	}
	return out
}
