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
		others: []string{"github.com/clipperhouse/uax29/v2/graphemes"},
		not:    theWorld,
		reason: "A script is data: an editor or a linter can check one without the engine that plays it, or the items that come of it.",
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
		pkg:    "fakeagent",
		ours:   []string{"fakeagent/timeline", "fakeagent/script", "fakeagent/event"},
		others: []string{"github.com/clipperhouse/uax29/v2/graphemes"},
		not:    theNetwork,
		reason: "The engine plays scripts and speaks no protocol: doors are built on top of it, by us as by anybody else.",
	},
	{
		pkg:    "fakeagent/cmd/fakeagent",
		ours:   []string{"fakeagent", "fakeagent/timeline", "fakeagent/script", "fakeagent/event", "timelinekit"},
		others: []string{"github.com/alecthomas/kong"},
		reason: "The command may show all that a user can import, as nobody imports the command; flags are the one thing it needs help with.",
	},
	{
		pkg:    "timelinekit",
		ours:   []string{"fakeagent", "fakeagent/timeline", "fakeagent/script", "fakeagent/event"},
		not:    theNetwork,
		reason: "The host lives inside a test, whatever that is written with: it takes no side for Ginkgo or Gomega, and needs no network.",
	},
	{
		pkg:    "matchers",
		ours:   []string{"fakeagent/timeline", "fakeagent/event"},
		others: []string{"github.com/onsi/gomega/format", "github.com/onsi/gomega/types"},
		not:    theWorld,
		reason: "A matcher judges what happened, not how: no engine, no Ginkgo, no MCP, and of Gomega the small parts, as the whole links net/http.",
	},
	{
		pkg:    "e2e",
		reason: "Specs and nothing else. What they share has a package of its own.",
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
	testsOnly  = []string{"testing/...", "net/http/httptest"}
)

func (r row) allows(path string) bool {
	if inside, ok := strings.CutPrefix(path, module+"/"); ok {
		return covers(r.ours, inside)
	}
	if root, _, _ := strings.Cut(path, "/"); strings.Contains(root, ".") || covers(testsOnly, path) {
		return covers(r.others, path)
	}
	return !covers(r.not, path)
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
		for pkg := range imports {
			Expect(reasons).To(HaveKey(pkg), "%s has no row in the table. Add one that says what it may import, and why.", pkg)
		}
	})

	It("has one row a package, each with a reason", func() {
		Expect(reasons).To(HaveLen(len(house)), "a package has two rows")
		for pkg, reason := range reasons {
			Expect(reason).NotTo(BeEmpty(), "the row of %s does not say why", pkg)
		}
	})

	It("speaks only of packages that exist", func() {
		for _, r := range house {
			for _, pkg := range append([]string{r.pkg}, r.ours...) {
				Expect(imports).To(HaveKey(pkg), "The row of %s names %s, and there is no such package. Remove it from the row, or the row.", r.pkg, pkg)
			}
		}
	})

	for _, r := range house {
		It("is kept by "+r.pkg, func() {
			broken := ""
			slices.Sort(imports[r.pkg])
			for _, path := range slices.Compact(imports[r.pkg]) {
				if r.allows(path) {
					continue
				}
				broken += fmt.Sprintf("\n%s must not import %s\n    %s: %s\n", r.pkg, path, r.pkg, r.reason)
				if inside := strings.TrimPrefix(path, module+"/"); reasons[inside] != "" {
					broken += fmt.Sprintf("    %s: %s\n", inside, reasons[inside])
				}
			}
			if broken != "" {
				Fail(broken + "\nDo without the import, or change the row of " + r.pkg + ", and its reason.")
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
	Expect(cmd.Run()).To(Succeed(), complaint.String)
	for d := json.NewDecoder(&said); d.More(); {
		var p listed
		Expect(d.Decode(&p)).To(Succeed())
		out = append(out, p)
	}
	Expect(out).NotTo(BeEmpty(), "the go command found no packages")
	return out
}
