package e2e_test

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

var _ = Describe("The weight of a package", func() {
	It("is in the README: the number of modules, besides this one, that come with it", func() {
		weights := weigh()
		const start, end = "<!-- weight -->\n", "<!-- /weight -->"
		table, names := "| package | modules |\n|---|---|\n", ""
		for _, pkg := range slices.Sorted(maps.Keys(weights)) {
			table += fmt.Sprintf("| `%s` | %d |\n", pkg, len(weights[pkg]))
			if len(weights[pkg]) > 0 {
				names += fmt.Sprintf("%s: %s\n", pkg, strings.Join(weights[pkg], ", "))
			}
		}

		readme, err := os.ReadFile("../README.md")
		if !errors.Is(err, fs.ErrNotExist) {
			Expect(err).NotTo(HaveOccurred())
		}
		_, rest, opened := strings.Cut(strings.ReplaceAll(string(readme), "\r\n", "\n"), start)
		stated, _, closed := strings.Cut(rest, end)
		if !opened || !closed {
			Fail("README.md does not say how many modules come with each package. Add these lines to it:\n\n" + start + table + end + "\n")
		}
		if diff := cmp.Diff(entries(stated), entries(table)); diff != "" {
			Fail("The table in README.md is not right (-README +go list):\n" + diff + "\nIf the new weight is meant, this is the table to paste:\n\n" +
				table + "\nThe modules are\n\n" + names)
		}
	})
})

// weigh finds the modules that each package for users links on Linux, besides this one.
func weigh() map[string][]string {
	GinkgoHelper()
	packages := list("linux", "-deps")
	home := map[string]string{} // of a package of another module, that module
	for _, p := range packages {
		if p.Module != nil && !p.Module.Main {
			home[p.ImportPath] = p.Module.Path
		}
	}
	weights := map[string][]string{}
	for _, p := range packages {
		pkg, ours := strings.CutPrefix(p.ImportPath, module+"/")
		if !ours || covers([]string{"e2e/..."}, pkg) || slices.Contains(strings.Split(pkg, "/"), "internal") {
			continue
		}
		linked := map[string]bool{}
		for _, dep := range p.Deps {
			if m := home[dep]; m != "" {
				linked[m] = true
			}
		}
		weights[pkg] = slices.Sorted(maps.Keys(linked))
	}
	return weights
}

// entries are the rows of a table below its head, sorted, without the spaces that only align them.
func entries(table string) (rows []string) {
	for line := range strings.Lines(table) {
		if row := strings.ReplaceAll(strings.TrimSpace(line), " ", ""); row != "" {
			rows = append(rows, row)
		}
	}
	rows = rows[min(2, len(rows)):]
	slices.Sort(rows)
	return rows
}
