package usagefake_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/understudy-go/understudy/usagefake"
)

// at is a clock that stands.
func at() time.Time { return time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC) }

// A host that shows quota gets an account for its test, which answers read by read.
func Example() {
	ctx := context.Background()
	src, err := usagefake.New(usagefake.Config{Script: usagefake.ScriptRateLimited, Now: at})
	if err != nil {
		log.Fatal(err)
	}
	quota, _ := src.ReadQuota(ctx)
	fmt.Println(quota)
	done, _ := src.RedeemQuotaReset(ctx, "key-1")
	again, _ := src.RedeemQuotaReset(ctx, "key-1")
	fmt.Println(done, again)
	quota, _ = src.ReadQuota(ctx)
	fmt.Println(quota)
	// Output:
	// ok, account-1, plan plus, rate_limit_reached, as of 2026-07-01T12:00:00Z
	//   session: 100% of 300 min, resets at 2026-07-01T17:00:00Z
	//   weekly: 21% of 10080 min, resets at 2026-07-08T12:00:00Z
	//   reset credits: 2 (credit-1 available, credit-2 available)
	// reset alreadyRedeemed
	// ok, account-1, plan plus, as of 2026-07-01T12:00:00Z
	//   session: 1% of 300 min, resets at 2026-07-01T17:00:00Z
	//   weekly: 22% of 10080 min, resets at 2026-07-08T12:00:00Z
	//   reset credits: 1 (credit-1 redeemed, credit-2 available)
}

// A page of costs has a day with a price and a day without one in turn.
func ExampleFake_ReadTokenUsage() {
	src, err := usagefake.New(usagefake.Config{Now: at})
	if err != nil {
		log.Fatal(err)
	}
	records, _ := src.ReadTokenUsage(context.Background())
	fmt.Println(len(records), "days")
	for _, r := range records[12:] {
		fmt.Println(r)
	}
	// Output:
	// 14 days
	// 2026-06-30 claude-sonnet-4-5: input 162388 (122650 read from cache, 6184 written), output 10585 (2963 reasoning), total 172973, $0.319422
	// 2026-07-01 fake-large: input 160331 (127650 read from cache, 13248 written), output 15484 (4954 reasoning), total 175815, unpriced
}

// A trap is a word in the Config. Here the weekly window stands where the session's is expected.
func ExampleTrap() {
	src, err := usagefake.New(usagefake.Config{Traps: []usagefake.Trap{usagefake.WeeklyOnly, usagefake.Throttled}, Now: at})
	if err != nil {
		log.Fatal(err)
	}
	quota, _ := src.ReadQuota(context.Background())
	fmt.Println(quota.Windows[0])
	_, err = src.ReadQuota(context.Background())
	var throttled *usagefake.ThrottledError
	fmt.Println(errors.As(err, &throttled), err)
	// Output:
	// weekly: 21% of 10080 min, resets at 2026-07-08T12:00:00Z
	// true usagefake: the usage endpoint is throttled; try again in 1m0s
}

// What the script does not say, a list of answers does: here a full answer, an update, an error and then silence.
func ExampleConfig() {
	ctx := context.Background()
	src, err := usagefake.New(usagefake.Config{Now: at, Quotas: []usagefake.Answer[usagefake.Quota]{
		usagefake.Say(usagefake.Quota{Plan: "pro", Windows: []usagefake.Window{{ID: "weekly", UsedPercent: 40}, {ID: "session", UsedPercent: 5}}}),
		usagefake.Say(usagefake.Quota{Sparse: true, Windows: []usagefake.Window{{ID: "session", UsedPercent: 6}}}),
		{Fail: errors.New("connection reset")},
		{Hang: true},
	}})
	if err != nil {
		log.Fatal(err)
	}
	shown, _ := src.ReadQuota(ctx)
	update, _ := src.ReadQuota(ctx)
	fmt.Println(shown.Merge(update))
	_, err = src.ReadQuota(ctx)
	fmt.Println(err)
	impatient, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
	defer cancel()
	_, err = src.ReadQuota(impatient)
	fmt.Println("silence until the deadline:", errors.Is(err, context.DeadlineExceeded))
	// Output:
	// ok, plan pro, as of 2026-07-01T12:00:00Z
	//   weekly: 40%, reset time unknown
	//   session: 6%, reset time unknown
	// connection reset
	// silence until the deadline: true
}

// A Config is strict about its JSON.
func ExampleConfig_UnmarshalJSON() {
	var cfg usagefake.Config
	fmt.Println(json.Unmarshal([]byte(`{"script":"balance","trap":["idleDay"]}`), &cfg))
	// Output: usagefake: unknown key "trap", did you mean "traps"?
}

// An agent's turn fails while a window is used up.
func ExampleQuota_Limit() {
	src, err := usagefake.New(usagefake.Config{Script: usagefake.ScriptRateLimited, Now: at})
	if err != nil {
		log.Fatal(err)
	}
	quota, _ := src.ReadQuota(context.Background())
	fmt.Println(quota.Limit())
	// Output: usagefake: usage limit reached: window session is at 100%, and resets at 2026-07-01T17:00:00Z
}
