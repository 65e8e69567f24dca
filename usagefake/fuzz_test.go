package usagefake_test

import (
	"context"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/understudy-go/understudy/usagefake"
)

// A Config that decodes is refused by New, with a reason, or answers; and whatever a quota in it says is the same when it was written and read.
func FuzzConfig(f *testing.F) {
	for _, text := range []string{
		`{}`, `{"script":"balance"}`, `{"script":"rate-limited","traps":["weeklyOnly","lostReply"]}`, `{"quotas":[{"fail":"throttled"},{"lost":true},{}]}`,
		`{"quotas":[{"say":{"sparse":true,"windows":[{"id":"w","usedPercent":-0,"resetsAt":"2026-07-01T12:00:00+09:00"}],"balance":{"currency":"CNY","total":"-0.5"}},"unchecked":true}]}`,
		`{"tokens":[{"say":[{"day":"2026-07-01","at":"2026-07-01T00:00:00Z","model":"m","input":1,"total":1}]}],"redemptions":[{"say":{"outcome":"noCredit"}},{"malformed":"x"}]}`,
		`{"quotas":[{"fail":"throtled"},{"fail":"no route to host"}],"traps":["idleDay","idleDay"]}`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var cfg usagefake.Config
		if err := cfg.UnmarshalJSON([]byte(text)); err != nil {
			if !strings.HasPrefix(err.Error(), "usagefake: ") || !reflect.ValueOf(cfg).IsZero() {
				t.Errorf("an error without a place, or a Config beside it: %v, %+v", err, cfg)
			}
			return
		}
		cfg.Now = func() time.Time { return noon }
		fake, err := usagefake.New(cfg)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "usagefake: ") {
				t.Errorf("an error without a place: %v", err)
			}
			return
		}
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		for i := range len(cfg.Quotas) + 2 {
			if i < len(cfg.Quotas) && cfg.Quotas[i].Hang {
				cancel()
			}
			q, err := fake.ReadQuota(ctx)
			if err != nil {
				continue
			}
			_ = q.String()
			written, err := json.Marshal(q)
			if err != nil {
				continue // a year of five digits
			}
			var back usagefake.Quota
			if err := json.Unmarshal(written, &back); err != nil {
				t.Fatalf("%s\nwas written, and cannot be read: %v", written, err)
			}
			if again, _ := json.Marshal(back); string(again) != string(written) {
				t.Errorf("%s\nwas read as\n%s", written, again)
			}
		}
	})
}

// An amount that is read is written, and read again, as it was.
func FuzzAmount(f *testing.F) {
	for _, text := range []string{"86.42", "-0.05", "0", "92233720368547758.07", "1.", "1e3"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var a, back usagefake.Amount
		if a.UnmarshalText([]byte(text)) != nil {
			return
		}
		if err := back.UnmarshalText([]byte(a.String())); err != nil || back != a {
			t.Errorf("%q is %d, is written as %q, and read as %d: %v", text, int64(a), a, int64(back), err)
		}
	})
}
