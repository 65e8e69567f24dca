package wire_test

import (
	"bytes"
	"encoding/json"
	"math"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/usagefake"
	"github.com/understudy-go/understudy/usagefake/wire"
)

var _ = Describe("The usage endpoint of Claude", func() {
	It("has percentages and times in named slots, in a list, and in a slot that says nothing", func() {
		Expect(wire.ClaudeUsage(first(usagefake.ScriptAvailable, usagefake.ModelWindow))).To(BeEquivalentTo(
			`{"five_hour":{"utilization":11,"resets_at":"2026-07-01T17:00:00.000000+00:00"},"seven_day":{"utilization":21,"resets_at":"2026-07-08T12:00:00.000000+00:00"},` +
				`"seven_day_oauth_apps":null,"seven_day_opus":{"utilization":31,"resets_at":"2026-07-08T12:00:00.000000+00:00"},"seven_day_sonnet":null,` +
				`"amber_ladder":{"utilization":0,"resets_at":null},` +
				`"limits":[{"kind":"session","percent":11,"resets_at":"2026-07-01T17:00:00.000000+00:00","scope":null},` +
				`{"kind":"weekly_all","percent":21,"resets_at":"2026-07-08T12:00:00.000000+00:00","scope":null},` +
				`{"kind":"weekly_scoped","percent":31,"resets_at":"2026-07-08T12:00:00.000000+00:00","scope":{"model":{"display_name":"Opus"}}}],` +
				`"extra_usage":{"is_enabled":false,"monthly_limit":null,"used_credits":null,"utilization":null,"currency":null,"decimal_places":null}}`))
	})
	It("goes by the length of a window, not by its place", func() {
		b := wire.ClaudeUsage(first(usagefake.ScriptAvailable, usagefake.WeeklyFirst))
		Expect(dig(b, "five_hour", "utilization")).To(Equal(11.0))
		Expect(dig(b, "seven_day", "utilization")).To(Equal(21.0))
	})
	It("has what has no slot in the list alone", func() {
		b := wire.ClaudeUsage(first(usagefake.ScriptAvailable, usagefake.MonthlyOnly))
		Expect([]any{dig(b, "five_hour"), dig(b, "seven_day")}).To(HaveEach(BeNil()))
		Expect(dig(b, "limits", 0, "kind")).To(Equal("monthly"))
	})
	It("calls a window by its id where it has no kind", func() {
		q := usagefake.Quota{Windows: []usagefake.Window{{ID: "daily-opus", DurationMins: 1440, Scope: "Opus"}}}
		Expect(dig(wire.ClaudeUsage(q), "limits", 0)).To(And(HaveKeyWithValue("kind", "daily-opus"), HaveKeyWithValue("scope", Not(BeNil()))))
	})
	It("has null for a time that is not known, and for a number that is none", func() {
		Expect(dig(wire.ClaudeUsage(first(usagefake.ScriptAvailable, usagefake.NoResetTime)), "five_hour")).To(Equal(map[string]any{"utilization": 11.0, "resets_at": nil}))
		q := usagefake.Quota{Windows: []usagefake.Window{{DurationMins: 300, UsedPercent: math.NaN()}, {DurationMins: 10080, Scope: "Sonnet", UsedPercent: 0.5}}}
		b := wire.ClaudeUsage(q)
		Expect(dig(b, "five_hour", "utilization")).To(BeNil())
		Expect(dig(b, "seven_day_sonnet", "utilization")).To(Equal(0.5))
	})
	It("has an empty list, and no slot that says nothing, where there is no window", func() {
		b := wire.ClaudeUsage(first(usagefake.ScriptBalance))
		Expect(dig(b, "limits")).To(BeEmpty())
		Expect(dig(b)).NotTo(HaveKey("amber_ladder"))
	})
	It("says times in UTC, whatever zone they have", func() {
		q := usagefake.Quota{Windows: []usagefake.Window{{ID: "session", ResetsAt: noon.In(time.FixedZone("far", 9*3600))}}}
		Expect(dig(wire.ClaudeUsage(q), "five_hour", "resets_at")).To(Equal("2026-07-01T12:00:00.000000+00:00"))
	})
	DescribeTable("knows windows by their lengths, or else by their ids:", func(w usagefake.Window, slot any, kind string) {
		b := wire.ClaudeUsage(usagefake.Quota{Windows: []usagefake.Window{w}})
		Expect(dig(b, "limits", 0, "kind")).To(Equal(kind))
		var found []any
		for _, name := range []string{"five_hour", "seven_day", "seven_day_opus", "seven_day_sonnet"} {
			if dig(b, name) != nil {
				found = append(found, name)
			}
		}
		if slot == nil {
			Expect(found).To(BeEmpty())
			Expect(dig(wire.ClaudeRateLimitEvents(usagefake.Quota{Windows: []usagefake.Window{w}}, wire.Units{})[0], "rate_limit_info")).NotTo(HaveKey("rateLimitType"))
			return
		}
		Expect(found).To(Equal([]any{slot}))
		Expect(dig(wire.ClaudeRateLimitEvents(usagefake.Quota{Windows: []usagefake.Window{w}}, wire.Units{})[0], "rate_limit_info", "rateLimitType")).To(Equal(slot))
	},
		Entry(nil, usagefake.Window{ID: "x", DurationMins: 300}, "five_hour", "session"),
		Entry(nil, usagefake.Window{ID: "x", DurationMins: 10080}, "seven_day", "weekly_all"),
		Entry(nil, usagefake.Window{ID: "x", DurationMins: 10080, Scope: "Sonnet"}, "seven_day_sonnet", "weekly_scoped"),
		Entry(nil, usagefake.Window{ID: "x", DurationMins: 10080, Scope: "Haiku"}, nil, "weekly_scoped"),
		Entry(nil, usagefake.Window{ID: "x", DurationMins: 300, Scope: "Opus"}, nil, "x"),
		Entry(nil, usagefake.Window{ID: "session"}, "five_hour", "session"),
		Entry(nil, usagefake.Window{ID: "weekly"}, "seven_day", "weekly_all"),
		Entry(nil, usagefake.Window{ID: "weekly", DurationMins: 60}, nil, "weekly"),
		Entry(nil, usagefake.Window{ID: "x"}, nil, "x"),
	)
})

var _ = Describe("rate_limit_event of Claude", func() {
	lines := func(q usagefake.Quota, u wire.Units) (out []string) {
		for _, e := range wire.ClaudeRateLimitEvents(q, u) {
			out = append(out, string(e))
		}
		return out
	}
	DescribeTable("is one line a window, in each of the four units:", func(u wire.Units, used, resets string) {
		Expect(lines(first(usagefake.ScriptAvailable), u)[0]).To(Equal(
			`{"type":"rate_limit_event","rate_limit_info":{"status":"allowed","resetsAt":` + resets + `,"rateLimitType":"five_hour","utilization":` + used + `}}`))
	},
		Entry("0 to 1, seconds", wire.Units{}, "0.11", "1782925200"),
		Entry("0 to 1, milliseconds", wire.Units{Millis: true}, "0.11", "1782925200000"),
		Entry("0 to 100, seconds", wire.Units{Percent: true}, "11", "1782925200"),
		Entry("0 to 100, milliseconds", wire.Units{Percent: true, Millis: true}, "11", "1782925200000"),
	)
	It("has each window under its name", func() {
		var names []any
		for _, e := range wire.ClaudeRateLimitEvents(first(usagefake.ScriptAvailable, usagefake.ModelWindow), wire.Units{}) {
			names = append(names, dig(e, "rate_limit_info", "rateLimitType"))
		}
		Expect(names).To(Equal([]any{"five_hour", "seven_day", "seven_day_opus"}))
		Expect(dig(wire.ClaudeRateLimitEvents(first(usagefake.ScriptAvailable, usagefake.MonthlyOnly), wire.Units{})[0], "rate_limit_info")).NotTo(HaveKey("rateLimitType"))
	})
	DescribeTable("warns at 90 percent, and rejects at 100:", func(percent float64, status string, threshold any) {
		q := usagefake.Quota{Windows: []usagefake.Window{{ID: "session", UsedPercent: percent}}}
		info := dig(wire.ClaudeRateLimitEvents(q, wire.Units{})[0], "rate_limit_info").(map[string]any)
		Expect(info["status"]).To(Equal(status))
		if threshold == nil {
			Expect(info).NotTo(HaveKey("surpassedThreshold"))
		} else {
			Expect(info["surpassedThreshold"]).To(Equal(threshold))
			Expect(dig(wire.ClaudeRateLimitEvents(q, wire.Units{Percent: true})[0], "rate_limit_info", "surpassedThreshold")).To(Equal(90.0))
		}
		Expect(info).NotTo(HaveKey("resetsAt"), "it is not known")
	},
		Entry(nil, 0.0, "allowed", nil), Entry(nil, 89.9, "allowed", nil), Entry(nil, 90.0, "allowed_warning", 0.9),
		Entry(nil, 99.99, "allowed_warning", 0.9), Entry(nil, 100.0, "rejected", nil), Entry(nil, 130.0, "rejected", nil),
	)
	It("says one percent as 0.01, and all as 1", func() {
		src := fakeOf(usagefake.Config{Traps: []usagefake.Trap{usagefake.EdgePercents}})
		var said []any
		for range 5 {
			said = append(said, dig(wire.ClaudeRateLimitEvents(read(src), wire.Units{})[0], "rate_limit_info", "utilization"))
		}
		Expect(said).To(Equal([]any{0.0, 0.01, 0.99, 1.0, 1.3}))
	})
	It("may have a status alone", func() {
		src := fakeOf(usagefake.Config{Traps: []usagefake.Trap{usagefake.SparseStatus}})
		read(src)
		Expect(lines(read(src), wire.Units{})).To(Equal([]string{`{"type":"rate_limit_event","rate_limit_info":{"status":"allowed"}}`}))
		Expect(lines(usagefake.Quota{Reached: "x"}, wire.Units{})).To(Equal([]string{`{"type":"rate_limit_event","rate_limit_info":{"status":"rejected"}}`}))
	})
	It("leaves out a number that is none, and all numbers where nobody knows what they are of", func() {
		Expect(lines(usagefake.Quota{Windows: []usagefake.Window{{ID: "weekly", UsedPercent: math.NaN()}, {ID: "x", UsedPercent: 95, ResetsAt: noon}}}, wire.Units{})).To(Equal([]string{
			`{"type":"rate_limit_event","rate_limit_info":{"status":"allowed","rateLimitType":"seven_day"}}`,
			`{"type":"rate_limit_event","rate_limit_info":{"status":"allowed_warning"}}`}))
	})
	It("has a number for a window of another length, and no type, as there is none", func() {
		Expect(lines(usagefake.Quota{Windows: []usagefake.Window{{ID: "x", UsedPercent: 5, DurationMins: 60}}}, wire.Units{})).To(Equal([]string{
			`{"type":"rate_limit_event","rate_limit_info":{"status":"allowed","utilization":0.05}}`}))
	})
	It("does not come to who has no quota", func() {
		Expect(lines(first(usagefake.ScriptSignedOut), wire.Units{})).To(BeEmpty())
		Expect(lines(first(usagefake.ScriptCustomEndpoint), wire.Units{})).To(BeEmpty())
		Expect(lines(first(usagefake.ScriptBalance), wire.Units{})).To(HaveLen(1))
	})
})

var _ = Describe("A transcript of Claude's", func() {
	It("has a line a record, with what was read from a cache, or written to one, beside the rest of the input", func() {
		b := wire.ClaudeTranscript([]usagefake.TokenRecord{{Day: "2026-07-01", At: noon, Model: "m", Input: 10, CacheRead: 3, CacheWrite: 2, Output: 4, Reasoning: 1, Total: 14}})
		Expect(b).To(BeEquivalentTo(`{"type":"assistant","sessionId":"usagefake","uuid":"uuid_1","requestId":"req_1","timestamp":"2026-07-01T12:00:00.000Z","version":"2.0.0",` +
			`"message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],"stop_reason":"end_turn",` +
			`"usage":{"input_tokens":5,"cache_creation_input_tokens":2,"cache_read_input_tokens":3,"output_tokens":4}}}` + "\n"))
	})
	It("has ids that are all different, as each is counted once", func() {
		seen := map[any]bool{}
		all := bytes.Split(bytes.TrimSpace(wire.ClaudeTranscript(records())), []byte("\n"))
		Expect(all).To(HaveLen(14))
		for _, line := range all {
			Expect(json.Valid(line)).To(BeTrue())
			seen[dig(line, "message", "id")] = true
			seen[dig(line, "requestId")] = true
		}
		Expect(seen).To(HaveLen(28))
	})
	It("of nothing is empty", func() {
		Expect(wire.ClaudeTranscript(nil)).To(BeEmpty())
	})
})
