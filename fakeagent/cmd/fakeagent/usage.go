package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/understudy-go/understudy/usagefake"
)

type usageCommand struct {
	Script usagefake.Script `placeholder:"NAME" default:"available" help:"What kind of account it is; available by default."`
	Reads  count            `placeholder:"N" default:"1" help:"How often the quota is read; once by default."`
	Redeem count            `placeholder:"N" default:"0" help:"How many reset credits are redeemed then, each followed by a read."`
	Now    instant          `placeholder:"TIME" help:"Where the clock stands, such as 2026-07-01T12:00:00Z; now by default."`
}

func (*usageCommand) Help() string {
	scripts := make([]string, len(usagefake.Scripts()))
	for i, s := range usagefake.Scripts() {
		scripts[i] = string(s)
	}
	return "Each line is a JSON object with one key: quota, redemption, record, of which there is one a day, or error. Scripts: " +
		strings.Join(scripts, ", ") + "."
}

// count is how often.
type count int

func (n *count) Decode(ctx *kong.DecodeContext) error {
	value, err := valueOf(ctx)
	if err != nil {
		return err
	}
	v, err := strconv.Atoi(value)
	if err != nil || v < 0 {
		return fmt.Errorf("%q is no number of times; use 0 or more", value)
	}
	*n = count(v)
	return nil
}

// instant is one in time.
type instant struct{ time.Time }

func (i *instant) Decode(ctx *kong.DecodeContext) (err error) {
	value, err := valueOf(ctx)
	if err != nil {
		return err
	}
	if i.Time, err = time.Parse(time.RFC3339, value); err != nil {
		return fmt.Errorf("%q is no time; use one such as 2026-07-01T12:00:00Z", value)
	}
	return nil
}

func (u *usageCommand) run(ctx context.Context, c console) int {
	if u.Now.IsZero() {
		u.Now.Time = time.Now()
	}
	src, err := usagefake.New(usagefake.Config{Script: u.Script, Now: func() time.Time { return u.Now.Time }})
	if err != nil {
		c.complain("fakeagent: usage: %s", strings.TrimPrefix(err.Error(), "usagefake: "))
		return exitUsage
	}
	out := json.NewEncoder(c.out)
	var broken error
	line := func(key string, value any, err error) {
		if err != nil {
			key, value = "error", err.Error()
		}
		if broken == nil {
			broken = out.Encode(map[string]any{key: value})
		}
	}
	read := func() {
		q, err := src.ReadQuota(ctx)
		line("quota", q, err)
	}
	for range u.Reads {
		read()
	}
	for n := range u.Redeem {
		done, err := src.RedeemQuotaReset(ctx, "key-"+strconv.Itoa(int(n)+1))
		line("redemption", done, err)
		read()
	}
	records, err := src.ReadTokenUsage(ctx)
	for _, r := range records {
		line("record", r, nil)
	}
	if err != nil {
		line("record", nil, err)
	}
	if broken != nil {
		c.complain("fakeagent: the output could not be written: %v", broken)
		return exitFailed
	}
	return exitOK
}
