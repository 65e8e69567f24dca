package e2e_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// house is who may import whom. A package without a row does not belong to the house yet: give it one, and a reason.
var house = []row{
	{
		pkg:    "fakeagent/timeline",
		ours:   []string{"fakeagent/internal/jsonerr"},
		not:    theWorld,
		reason: "Items and timelines are data: who reads or prints a recording needs no engine, and nothing outside the process.",
	},
	{
		pkg:    "fakeagent/script",
		ours:   []string{"fakeagent/internal/jsonscan"},
		others: []string{"github.com/clipperhouse/uax29/v2/graphemes"},
		not:    theWorld,
		reason: "A script is data: an editor or a linter can check one without the engine that plays it, or the items that come of it.",
	},
	{
		pkg:    "fakeagent/playbook",
		ours:   []string{"fakeagent/script"},
		not:    theNetwork,
		reason: "A playbook is a file, and who has which part of it: all that can be asked, checked and printed without an agent that plays it.",
	},
	{
		pkg:    "fakeagent/event",
		ours:   []string{"fakeagent/timeline", "fakeagent/internal/jsonerr"},
		not:    theWorld,
		reason: "Events are data that fold to items; they know nothing of the scripts and the engine that they come from.",
	},
	{
		pkg:    "fakeagent/internal/jsonerr",
		not:    theWorld,
		reason: "It words JSON errors for timeline and event, which decode what others wrote. It is no drawer for odds and ends.",
	},
	{
		pkg:    "fakeagent/internal/jsonscan",
		not:    theWorld,
		reason: "It finds values in JSON for scripts and journals, both of which must say where something stands.",
	},
	{
		pkg:    "fakeagent/internal/procgroup",
		not:    theNetwork,
		reason: "It starts a child in a group of its own, for whoever starts children: the engine's shell and the MCP client.",
	},
	{
		pkg:    "fakeagent/mcpcall",
		ours:   []string{"fakeagent", "fakeagent/internal/procgroup"},
		others: []string{"github.com/modelcontextprotocol/go-sdk/jsonrpc", "github.com/modelcontextprotocol/go-sdk/mcp"},
		reason: "It is the one place that links the MCP SDK, with all that the SDK links, so that who calls no server pays for none.",
	},
	{
		pkg:    "fakeagent",
		ours:   []string{"fakeagent/timeline", "fakeagent/script", "fakeagent/playbook", "fakeagent/event", "fakeagent/internal/procgroup", "usagefake"},
		others: []string{"github.com/clipperhouse/uax29/v2/graphemes"},
		not:    theNetwork,
		reason: "The engine plays scripts and speaks no protocol: doors are built on top of it, by us as by anybody else.",
	},
	{
		pkg: "fakeagent/replay",
		ours: []string{"fakeagent", "fakeagent/timeline", "fakeagent/script", "fakeagent/event",
			"fakeagent/internal/jsonscan", "fakeagent/internal/procgroup"},
		others: []string{"net/url"},
		not:    theNetwork,
		reason: "The engine plays a journal, and git makes its commits: no more is needed of the world. What is redacted may stand in an address, too.",
	},
	{
		pkg:    "fakeagent/standin",
		ours:   []string{"fakeagent", "fakeagent/timeline", "fakeagent/script", "fakeagent/event", "fakeagent/internal/jsonerr", "mockproc/pipe"},
		not:    []string{"os/...", "syscall/..."},
		reason: "A chat back end is HTTP and nothing else: it plays replies by the engine, and needs no files and no processes.",
	},
	{
		pkg:    "fakeagent/standin/client",
		not:    []string{"os/...", "syscall/...", "log/..."},
		reason: "A client has types of its own: one that shared those of the stand-in would agree with it, whatever it says.",
	},
	{
		pkg:    "usagefake",
		not:    theWorld,
		reason: "Quota and token usage are values: a host's row and page are tested without a network, and whoever takes a Source links nothing.",
	},
	{
		pkg:    "usagefake/wire",
		ours:   []string{"usagefake"},
		not:    []string{"os/...", "syscall/..."},
		reason: "What vendors send of it, for a host that reads that: so this one knows HTTP, and the values need not.",
	},
	{
		pkg:    "usagefake/usagefakemock",
		ours:   []string{"usagefake"},
		others: []string{"go.uber.org/mock/gomock"},
		reason: "A generated mock of a source. It and the other mocks are the only ones that link gomock.",
	},
	{
		pkg:    "mockproc/pipe",
		not:    []string{"net/http/...", "os/exec", "log/..."},
		reason: "Pipes and connections in memory, for whoever doubles a process or a server. They know nothing of agents.",
	},
	{
		pkg:    "mockproc/internal/signals",
		not:    theNetwork,
		reason: "The names of signals, for a process that is ended by one and for who is told of it.",
	},
	{
		pkg:    "mockproc/acp",
		ours:   []string{"fakeagent", "fakeagent/timeline", "fakeagent/event", "mockproc/internal/signals"},
		not:    theNetwork,
		reason: "The protocol, on both sides, over any reader and writer and any provider: what it needs of a process is an interface of its own.",
	},
	{
		pkg: "mockproc",
		ours: []string{"fakeagent", "fakeagent/script", "fakeagent/event",
			"mockproc/acp", "mockproc/pipe", "mockproc/internal/signals"},
		not:    theNetwork,
		reason: "A process is a door like others: it puts the engine behind pipes, and what the agent says is the protocol's to know.",
	},
	{
		pkg:    "mockproc/mockprocmock",
		others: []string{"go.uber.org/mock/gomock"},
		reason: "A generated mock of a process. It and the other mocks are the only ones that link gomock.",
	},
	{
		pkg: "fakeagent/cmd/fakeagent",
		ours: []string{"fakeagent", "fakeagent/timeline", "fakeagent/script", "fakeagent/event", "fakeagent/playbook", "fakeagent/replay", "fakeagent/mcpcall",
			"fakeagent/standin", "timelinekit", "mockproc", "mockproc/acp", "usagefake"},
		others: []string{"github.com/alecthomas/kong"},
		reason: "Nobody imports the command, so it may import whatever it shows: the engine, the language, the host, the back end. Only with flags does it need help.",
	},
	{
		pkg:    "fakeagent/fakeagentmock",
		ours:   []string{"fakeagent", "fakeagent/event"},
		others: []string{"go.uber.org/mock/gomock"},
		reason: "A generated mock, for tests that say call by call what a host does. It and the other mocks are the only ones that link gomock.",
	},
	{
		pkg:    "timelinekit/timelinekitmock",
		ours:   []string{"timelinekit"},
		others: []string{"go.uber.org/mock/gomock"},
		reason: "Generated mocks of the hooks. It and the other mocks are the only ones that link gomock.",
	},
	{
		pkg:    "timelinekit",
		ours:   []string{"fakeagent", "fakeagent/timeline", "fakeagent/script", "fakeagent/event", "fakeagent/mcpcall", "timelinekit/golden"},
		not:    theNetwork,
		reason: "The host lives inside a test, whatever that is written with: it takes no side for Ginkgo or Gomega, and needs no network.",
	},
	{
		pkg:    "timelinekit/bubble",
		others: []string{"testing", "testing/synctest", "github.com/onsi/ginkgo/v2", "github.com/onsi/ginkgo/v2/types"},
		not:    theNetwork,
		reason: "Virtual time is for the tests of any host: it is made for Ginkgo and testing, and of ours it knows nothing but two labels.",
	},
	{
		pkg:    "timelinekit/golden",
		ours:   []string{"fakeagent/timeline", "fakeagent/event"},
		others: []string{"golang.org/x/tools/txtar"},
		not:    theNetwork,
		reason: "Golden files are for matchers and scenarios alike, and one flag rewrites both: so it knows data and files, and no host and no Gomega.",
	},
	{
		pkg:    "matchers",
		ours:   []string{"fakeagent/timeline", "fakeagent/event", "timelinekit/golden", "usagefake"},
		others: []string{"os", "github.com/onsi/gomega/format", "github.com/onsi/gomega/types", "github.com/google/go-cmp/cmp"},
		not:    theWorld,
		reason: "A matcher judges what happened, not how: no engine, no Ginkgo, no MCP, and of Gomega the small parts, as the whole links net/http; and go-cmp, so that its options for our types stand beside the matchers. Of os it needs the type of a signal alone.",
	},
	{
		pkg:    "e2e",
		reason: "Specs and nothing else. What they share has a package of its own.",
	},
	{
		pkg:    "e2e/recorder",
		not:    theWorld,
		reason: "A test that specs look into. It needs nothing, so that every suite may use it.",
	},
	{
		pkg:    "e2e/stopwatch",
		not:    theWorld,
		reason: "It takes the time for benchmarks, and does nothing else.",
	},
	{
		pkg:    "e2e/leak",
		others: []string{"github.com/onsi/ginkgo/v2", "github.com/onsi/gomega"},
		reason: "A check for specs, so it may be written with Ginkgo. That is also why only specs may import it.",
	},
}

// A row says what the code of one package may import directly. Its tests may import what they like.
//
// The standard library is free, but for what the row does without and for what is made for tests only. "net/..." is net and all below it.
type row struct {
	pkg    string   // below this module, as all in ours
	ours   []string // packages of this module that it may import
	others []string // what it may import of other modules, or although that is made for tests only
	not    []string // what it does without
	reason string   // a sentence for whoever breaks the row
}

var (
	theNetwork = []string{"net/..."}
	theWorld   = []string{"net/...", "os/...", "syscall/...", "log/..."}
	testsOnly  = []string{"testing/...", "net/http/httptest", "github.com/onsi/ginkgo/..."}
)

// objection is why the package must not import another, or "" where it may.
func (r row) objection(path string) string {
	inside, ours := strings.CutPrefix(path, module+"/")
	root, _, _ := strings.Cut(path, "/")
	switch {
	case ours && covers(r.ours, inside), covers(r.others, path):
		return ""
	case covers(testsOnly, path):
		return "It is made for tests only. Ours is for programs too, and for tests that are written with something else."
	case ours, strings.Contains(root, "."), covers(r.not, path):
		return r.reason
	default:
		return ""
	}
}

func covers(patterns []string, path string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		tree, below := strings.CutSuffix(p, "/...")
		return path == tree || below && strings.HasPrefix(path, tree+"/")
	})
}

var _ = Describe("The table of imports", Ordered, ContinueOnFailure, func() {
	imports := map[string][]string{} // of each package of this module, on all systems together
	reasons := map[string]string{}
	BeforeAll(func() {
		for _, system := range []string{"linux", "darwin", "windows"} {
			for _, p := range list(system) {
				inside := strings.TrimPrefix(p.ImportPath, module+"/")
				imports[inside] = append(imports[inside], p.Imports...)
			}
		}
		for _, r := range house {
			reasons[r.pkg] = r.reason
		}
	})

	It("has a row for each package of this module", func() {
		var without []string
		for pkg := range imports {
			if _, ok := reasons[pkg]; !ok {
				without = append(without, pkg)
			}
		}
		Expect(without).To(BeEmpty(), "These packages have no row. Add one that says what the package may import, and why.")
	})

	It("has one row a package, each with a reason", func() {
		for i, r := range house {
			Expect(r.reason).NotTo(BeEmpty(), "The row of %s does not say why.", r.pkg)
			Expect(slices.IndexFunc(house, func(other row) bool { return other.pkg == r.pkg })).To(Equal(i), "%s has two rows.", r.pkg)
		}
	})

	It("speaks only of packages that exist", func() {
		var gone []string
		for _, r := range house {
			for _, pkg := range append([]string{r.pkg}, r.ours...) {
				if _, ok := imports[pkg]; !ok {
					gone = append(gone, pkg+", in the row of "+r.pkg)
				}
			}
		}
		Expect(gone).To(BeEmpty(), "These packages do not exist. Remove them from the table.")
	})

	for _, r := range house {
		It("is kept by "+r.pkg, func() {
			broken := ""
			slices.Sort(imports[r.pkg])
			for _, path := range slices.Compact(imports[r.pkg]) {
				if why := r.objection(path); why != "" {
					inside := strings.TrimPrefix(path, module+"/")
					broken += fmt.Sprintf("%s must not import %s\n    %s\n", r.pkg, inside, why)
					if reasons[inside] != "" {
						broken += fmt.Sprintf("    About %s: %s\n", inside, reasons[inside])
					}
				}
			}
			if broken != "" {
				Fail(broken + "Do without the import, or change the row of " + r.pkg + ", and its reason.")
			}
		})
	}
})

const module = "github.com/understudy-go/understudy"

// listed is what the go command says of a package.
type listed struct {
	ImportPath    string
	Imports, Deps []string // those of tests are not among them
	Module        *struct {
		Path string
		Main bool
	}
}

// list asks the go command for the packages of this module, as they are built for a system.
func list(system string, flags ...string) (out []listed) {
	GinkgoHelper()
	// A result is cached until something changes that the test itself has read. So it reads the folders, as the go command will.
	_ = fs.WalkDir(os.DirFS(".."), ".", func(_ string, d fs.DirEntry, _ error) error {
		if d != nil && d.Name() == ".git" {
			return fs.SkipDir
		}
		return nil // what has just gone away is of no interest
	})

	var said, complaint bytes.Buffer
	cmd := exec.Command("go", append(append([]string{"list", "-json=ImportPath,Imports,Deps,Module"}, flags...), "./...")...)
	cmd.Dir = ".."
	cmd.Env = append(os.Environ(), "GOOS="+system, "GOARCH=amd64")
	cmd.Stdout, cmd.Stderr = &said, &complaint
	if err := cmd.Run(); err != nil {
		Fail(fmt.Sprintf("%s: %v\n%s", cmd, err, &complaint))
	}
	for d := json.NewDecoder(&said); d.More(); {
		var p listed
		Expect(d.Decode(&p)).To(Succeed())
		out = append(out, p)
	}
	Expect(out).NotTo(BeEmpty(), "the go command found no packages")
	return out
}
