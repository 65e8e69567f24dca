package wire_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/understudy-go/understudy/usagefake"
	"github.com/understudy-go/understudy/usagefake/wire"
)

func at() time.Time { return time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC) }

// A host that asks a vendor over HTTP is given the address of a server.
func ExampleHandler() {
	src, err := usagefake.New(usagefake.Config{Script: usagefake.ScriptBalance, Now: at})
	if err != nil {
		log.Fatal(err)
	}
	server := httptest.NewServer(wire.Handler(src, wire.Units{}))
	defer server.Close()

	response, err := http.Get(server.URL + "/user/balance")
	if err != nil {
		log.Fatal(err)
	}
	defer response.Body.Close()
	body, _ := io.ReadAll(response.Body)
	fmt.Println(response.StatusCode, string(body))
	// Output: 200 {"is_available":true,"balance_infos":[{"currency":"CNY","total_balance":"86.42","granted_balance":"6.42","topped_up_balance":"80.00"}]}
}

// What Codex pushes is an update of its last answer. This one says nothing of the first window.
func ExampleCodexRateLimitsUpdated() {
	ctx := context.Background()
	src, err := usagefake.New(usagefake.Config{Traps: []usagefake.Trap{usagefake.SparseWindow}, Now: at})
	if err != nil {
		log.Fatal(err)
	}
	last, _ := src.ReadQuota(ctx)
	_, _ = src.ReadQuota(ctx)
	update, _ := src.ReadQuota(ctx)
	for _, params := range wire.CodexRateLimitsUpdated(last, update) {
		fmt.Printf("%.116s…\n", params)
	}
	// Output: {"rateLimits":{"limitId":"codex","limitName":null,"primary":null,"secondary":{"usedPercent":23,"windowDurationMins":…
}

// Claude's stream has an event for a window. The sources disagree on its units, so there are four kinds.
func ExampleClaudeRateLimitEvents() {
	quota := usagefake.Quota{Windows: []usagefake.Window{{ID: "session", UsedPercent: 92, DurationMins: 300, ResetsAt: at()}}}
	fmt.Printf("%s\n", wire.ClaudeRateLimitEvents(quota, wire.Units{})[0])
	fmt.Printf("%s\n", wire.ClaudeRateLimitEvents(quota, wire.Units{Percent: true, Millis: true})[0])
	// Output:
	// {"type":"rate_limit_event","rate_limit_info":{"status":"allowed_warning","resetsAt":1782907200,"rateLimitType":"five_hour","utilization":0.92,"surpassedThreshold":0.9}}
	// {"type":"rate_limit_event","rate_limit_info":{"status":"allowed_warning","resetsAt":1782907200000,"rateLimitType":"five_hour","utilization":92,"surpassedThreshold":90}}
}
