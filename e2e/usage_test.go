package e2e_test

import (
	"context"
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/usagefake"
	"github.com/understudy-go/understudy/usagefake/wire"
)

var _ = Describe("A Claude transcript of token usage, as ccusage reads it,", func() {
	DescribeTable("is the rows and totals of CCUsageDaily, with all their keys and no others:",
		func(ctx SpecContext, traps []usagefake.Trap, apart ...string) {
			records := tokenUsage(traps...)
			got := ccusage(ctx, records, "UTC")
			Expect(dates(got)).To(Equal(days(records)))
			Expect(without(got, apart...)).To(BeComparableTo(without(daily(records), apart...)))
		},
		Entry("but for the costs", nil, "cost", "totalCost"),
		Entry("but for the costs, without a day on which nothing was used", []usagefake.Trap{usagefake.IdleDay}, "cost", "totalCost"),
		Entry("but for the costs, on the borders of days", []usagefake.Trap{usagefake.ZoneBorder}, "cost", "totalCost"),
		Entry("but for the costs and whether there are prices, where a model has none", []usagefake.Trap{usagefake.UnpricedEndpoint},
			"cost", "totalCost", "missingPricing", "unpricedModels"),
	)

	It("costs what the records do, to a millionth of a dollar", func(ctx SpecContext) {
		records := tokenUsage()
		got := ccusage(ctx, records, "UTC")
		Expect(dates(got)).To(Equal(days(records)))
		priced, total := 0, 0.0
		for i, r := range records {
			row := got["daily"].([]any)[i].(map[string]any)
			model := row["modelBreakdowns"].([]any)[0].(map[string]any)
			Expect(millionths(row["totalCost"])).To(Equal(millionths(r.CostUSD)), r.Day)
			Expect(millionths(model["cost"])).To(Equal(millionths(r.CostUSD)), r.Day)
			total += r.CostUSD
			if r.Priced {
				priced++
			}
		}
		Expect(priced).To(Equal(7), "days with a price")
		Expect(millionths(got["totals"].(map[string]any)["totalCost"])).To(Equal(millionths(total)))
	})

	It("has prices with the trap unpricedEndpoint, as ccusage goes by the names of models; the records have none", func(ctx SpecContext) {
		records := tokenUsage(usagefake.UnpricedEndpoint)
		got := ccusage(ctx, records, "UTC")
		Expect(dates(got)).To(Equal(days(records)))
		for i, r := range records {
			Expect(r.Priced).To(BeFalse())
			row := got["daily"].([]any)[i].(map[string]any)
			Expect(row["totalCost"]).To(BeNumerically(">", 0), r.Day)
			Expect(row["modelBreakdowns"]).To(HaveExactElements(Not(HaveKey("missingPricing"))), r.Day)
		}
		Expect(got["totals"]).NotTo(HaveKey("unpricedModels"))
	})

	It("with the trap zoneBorder has other days in Tokyo: two of the records' in one each, the models in the order in which they cost", func(ctx SpecContext) {
		records := tokenUsage(usagefake.ZoneBorder)
		got := ccusage(ctx, records, tokyo.String())
		Expect(dates(got)).To(Equal([]string{"2026-06-20", "2026-06-22", "2026-06-24", "2026-06-26", "2026-06-28", "2026-06-30", "2026-07-02"}))
		Expect(days(records)).To(HaveLen(14))
		Expect(got["totals"]).To(HaveKeyWithValue("totalTokens", daily(records)["totals"].(map[string]any)["totalTokens"]))

		for i := range records {
			records[i].Day = records[i].At.In(tokyo).Format(time.DateOnly)
		}
		Expect(without(got, "cost", "totalCost")).To(BeComparableTo(without(daily(records), "cost", "totalCost")))
	})
})

// tokenUsage is read at noon of an even day: of the two days that are one in Tokyo, then, the one whose model has no price is the earlier, so that the
// order of costs is not that of time.
func tokenUsage(traps ...usagefake.Trap) []usagefake.TokenRecord {
	GinkgoHelper()
	noon := time.Date(2026, 7, 2, 12, 0, 0, 0, time.UTC)
	fake, err := usagefake.New(usagefake.Config{Traps: traps, Now: func() time.Time { return noon }})
	Expect(err).NotTo(HaveOccurred())
	records, err := fake.ReadTokenUsage(context.Background())
	Expect(err).NotTo(HaveOccurred())
	return records
}

// tokyo is always nine hours ahead of UTC.
var tokyo = time.FixedZone("Asia/Tokyo", 9*60*60)

// ccusage has the program read a transcript of the records, and returns what it prints of the days of a zone, which is UTC or Tokyo.
func ccusage(ctx context.Context, records []usagefake.TokenRecord, zone string) map[string]any {
	GinkgoHelper()
	node, program := peer("ccusage/src/cli.js")
	// That only starts a program for this system, whose package npm leaves out without a word where it cannot have it.
	peer("@ccusage/ccusage-" + strings.NewReplacer("windows", "win32", "amd64", "x64").Replace(runtime.GOOS+"-"+runtime.GOARCH))

	dir := GinkgoT().TempDir()
	write := func(data []byte, path ...string) {
		GinkgoHelper()
		name := filepath.Join(append([]string{dir}, path...)...)
		Expect(os.MkdirAll(filepath.Dir(name), 0o755)).To(Succeed())
		Expect(os.WriteFile(name, data, 0o644)).To(Succeed())
	}
	write(wire.ClaudeTranscript(records), "claude", "projects", "x", "x.jsonl")
	// Not every machine has a list of zones. This is a file as in RFC 8536 with one offset, 32400 seconds, once for old readers and once for new.
	jst := "TZif2" + strings.Repeat("\x00", 15+4*4) + "\x00\x00\x00\x01" + "\x00\x00\x00\x04" + "\x00\x00\x7e\x90\x00\x00" + "JST\x00"
	write([]byte(jst+jst+"\nJST-9\n"), "zones", "Asia", "Tokyo")

	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, node, program, "claude", "daily", "--json", "--offline", "-z", zone)
	cmd.Dir = dir // it looks for settings where it runs, too
	cmd.Env = []string{
		"HOME=" + dir, "USERPROFILE=" + dir, "XDG_CONFIG_HOME=" + filepath.Join(dir, "config"),
		"CLAUDE_CONFIG_DIR=" + filepath.Join(dir, "claude"), "TZDIR=" + filepath.Join(dir, "zones"),
	}
	out, code := output(ctx, cmd)
	Expect(code).To(Equal(0), "ccusage failed. Its complaint is above.")
	return object([]byte(out))
}

func daily(records []usagefake.TokenRecord) map[string]any {
	GinkgoHelper()
	return object(wire.CCUsageDaily(records))
}

func object(data []byte) (o map[string]any) {
	GinkgoHelper()
	Expect(json.Unmarshal(data, &o)).To(Succeed(), "%s", data)
	return o
}

// without is a JSON value less the members of these names, wherever they are in it.
func without(value any, names ...string) any {
	switch v := value.(type) {
	case []any:
		out := []any{}
		for _, element := range v {
			out = append(out, without(element, names...))
		}
		return out
	case map[string]any:
		out := map[string]any{}
		for name, member := range v {
			out[name] = without(member, names...)
		}
		for _, name := range names {
			delete(out, name)
		}
		return out
	}
	return value
}

func dates(report map[string]any) (out []string) {
	for _, row := range report["daily"].([]any) {
		out = append(out, row.(map[string]any)["date"].(string))
	}
	return out
}

func days(records []usagefake.TokenRecord) (out []string) {
	for _, r := range records {
		out = append(out, r.Day)
	}
	return out
}

// millionths are exact in what the records say, where sums of ccusage's are a few bits off.
func millionths(dollars any) float64 { return math.Round(dollars.(float64) * 1e6) }
