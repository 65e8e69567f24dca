package wire

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/understudy-go/understudy/usagefake"
)

type codexWindow struct {
	UsedPercent        *int64 `json:"usedPercent"`
	WindowDurationMins *int   `json:"windowDurationMins"`
	ResetsAt           *int64 `json:"resetsAt"`
}

type codexCredits struct {
	HasCredits bool    `json:"hasCredits"`
	Unlimited  bool    `json:"unlimited"`
	Balance    *string `json:"balance"`
}

type codexSnapshot struct {
	LimitID              string        `json:"limitId"`
	LimitName            *string       `json:"limitName"`
	Primary              *codexWindow  `json:"primary"`
	Secondary            *codexWindow  `json:"secondary"`
	Credits              *codexCredits `json:"credits"`
	IndividualLimit      *struct{}     `json:"individualLimit"`
	PlanType             *string       `json:"planType"`
	RateLimitReachedType *string       `json:"rateLimitReachedType"`
	SpendControlReached  *bool         `json:"spendControlReached"`
}

type codexCredit struct {
	ID          string  `json:"id"`
	GrantedAt   *int64  `json:"grantedAt"`
	ExpiresAt   *int64  `json:"expiresAt"`
	ResetType   string  `json:"resetType"`
	Status      string  `json:"status"`
	Title       *string `json:"title"`
	Description *string `json:"description"`
}

type codexResets struct {
	AvailableCount int           `json:"availableCount"`
	Credits        []codexCredit `json:"credits"` // nil is null: only the count is known
}

const codexLimit = "codex"

// CodexRateLimits is the result of account/rateLimits/read. Windows stand in its slots in the order of the quota, of which there are two, those of
// a model in a limit of their own.
func CodexRateLimits(q usagefake.Quota) []byte {
	own := snapshot(q, "", slots(q, ""))
	limits := map[string]codexSnapshot{own.LimitID: own}
	for _, model := range models(q) {
		limit := snapshot(q, model, slots(q, model))
		limits[limit.LimitID] = limit
	}
	out := struct {
		RateLimits            codexSnapshot            `json:"rateLimits"`
		RateLimitsByLimitID   map[string]codexSnapshot `json:"rateLimitsByLimitId"`
		RateLimitResetCredits *codexResets             `json:"rateLimitResetCredits"`
	}{own, limits, nil}
	if q.Resets != nil {
		out.RateLimitResetCredits = &codexResets{AvailableCount: q.Resets.Available}
		if q.Resets.Credits != nil {
			out.RateLimitResetCredits.Credits = []codexCredit{}
		}
		for _, c := range q.Resets.Credits {
			out.RateLimitResetCredits.Credits = append(out.RateLimitResetCredits.Credits, codexCredit{
				ID: c.ID, GrantedAt: seconds(c.GrantedAt), ExpiresAt: seconds(c.ExpiresAt), ResetType: "codexRateLimits", Status: string(c.Status),
			})
		}
	}
	return encode(out)
}

// CodexRateLimitsUpdated are the params of the notifications account/rateLimits/updated that say what has changed: one for each limit of which the
// update speaks, and for that of the account where it speaks of none. A window has the slot that it has in the last answer, and a new one the first
// that is free. Where the update says nothing there is null, which clears nothing.
func CodexRateLimitsUpdated(last, update usagefake.Quota) (out [][]byte) {
	merged := last.Merge(update)
	push := func(model string, speaks bool) {
		windows := slots(merged, model)
		for i, place := range windows {
			said := slices.IndexFunc(update.Windows, func(w usagefake.Window) bool { return place != nil && place.ID == w.ID })
			if windows[i] = nil; said >= 0 {
				windows[i], speaks = &update.Windows[said], true
			}
		}
		if speaks {
			out = append(out, encode(map[string]codexSnapshot{"rateLimits": snapshot(update, model, windows)}))
		}
	}
	for _, model := range models(merged) {
		push(model, false)
	}
	push("", len(out) == 0 || update.Plan != "" || update.Reached != "" || update.Balance != nil)
	return out
}

// CodexConsume is the result of account/rateLimitResetCredit/consume.
func CodexConsume(r usagefake.Redemption) []byte {
	return encode(map[string]usagefake.Outcome{"outcome": r.Outcome})
}

// models are those that have windows of their own.
func models(q usagefake.Quota) (out []string) {
	for _, w := range q.Windows {
		if w.Scope != "" && !slices.Contains(out, w.Scope) {
			out = append(out, w.Scope)
		}
	}
	return out
}

// slots are the first two windows of a model, or of no model.
func slots(q usagefake.Quota, model string) (out [2]*usagefake.Window) {
	n := 0
	for i := range q.Windows {
		if q.Windows[i].Scope == model && n < len(out) {
			out[n] = &q.Windows[i]
			n++
		}
	}
	return out
}

// snapshot is the limit of a model, or of no model. Only that of no model has what is the account's.
func snapshot(q usagefake.Quota, model string, windows [2]*usagefake.Window) codexSnapshot {
	out := codexSnapshot{LimitID: codexLimit, PlanType: orNull(q.Plan), Primary: codexSlot(windows[0]), Secondary: codexSlot(windows[1])}
	if model != "" {
		out.LimitID, out.LimitName = codexLimit+"_"+strings.ToLower(model), &model
		for _, w := range windows {
			if w != nil && w.UsedPercent >= all {
				out.RateLimitReachedType = orNull(usagefake.RateLimitReached)
			}
		}
		return out
	}
	out.RateLimitReachedType = orNull(q.Reached)
	if b := q.Balance; b != nil {
		total := b.Total.String()
		out.Credits = &codexCredits{HasCredits: b.Total > 0 && !b.Unavailable, Balance: &total}
	}
	return out
}

func codexSlot(w *usagefake.Window) *codexWindow {
	if w == nil {
		return nil
	}
	return &codexWindow{whole(w.UsedPercent), orNull(w.DurationMins), seconds(w.ResetsAt)}
}

// whole rounds, as the shape has whole numbers. What is no number, or none that JSON can be relied on to carry, is nil.
func whole(f float64) *int64 {
	if !(math.Abs(f) <= 1<<53) {
		return nil
	}
	n := int64(math.Round(f))
	return &n
}

type codexWebWindow struct {
	UsedPercent        *int64 `json:"used_percent"`
	LimitWindowSeconds *int   `json:"limit_window_seconds"`
	ResetAfterSeconds  *int64 `json:"reset_after_seconds"`
	ResetAt            *int64 `json:"reset_at"`
}

// CodexWeb is the answer of the web back end that Codex itself asks, at /backend-api/wham/usage.
func CodexWeb(q usagefake.Quota) []byte {
	type limit struct {
		Allowed      bool            `json:"allowed"`
		LimitReached bool            `json:"limit_reached"`
		Primary      *codexWebWindow `json:"primary_window"`
		Secondary    *codexWebWindow `json:"secondary_window"`
	}
	type credits struct {
		HasCredits bool    `json:"has_credits"`
		Unlimited  bool    `json:"unlimited"`
		Balance    *string `json:"balance"`
	}
	windows := slots(q, "")
	out := struct {
		PlanType  *string  `json:"plan_type"`
		RateLimit *limit   `json:"rate_limit"`
		Credits   *credits `json:"credits"`
	}{PlanType: orNull(q.Plan)}
	if windows[0] != nil {
		full := q.LimitReached()
		out.RateLimit = &limit{!full, full, codexWebSlot(windows[0], q.AsOf), codexWebSlot(windows[1], q.AsOf)}
	}
	if b := q.Balance; b != nil {
		total := b.Total.String()
		out.Credits = &credits{HasCredits: b.Total > 0 && !b.Unavailable, Balance: &total}
	}
	return encode(out)
}

func codexWebSlot(w *usagefake.Window, asOf time.Time) *codexWebWindow {
	if w == nil {
		return nil
	}
	out := &codexWebWindow{UsedPercent: whole(w.UsedPercent), LimitWindowSeconds: orNull(w.DurationMins * 60), ResetAt: seconds(w.ResetsAt)}
	if !w.ResetsAt.IsZero() && !asOf.IsZero() {
		after := wholeSeconds(w.ResetsAt.Sub(asOf))
		out.ResetAfterSeconds = &after
	}
	return out
}
