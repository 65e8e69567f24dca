package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/understudy-go/understudy/usagefake"
)

type reportWindow struct {
	ID           string   `json:"id"`
	Label        string   `json:"label"`
	UsedPct      *float64 `json:"usedPct"`
	RemainingPct *float64 `json:"remainingPct"`
	ResetsAt     *string  `json:"resetsAt"`
	Tone         string   `json:"tone"`
}

type reportBalance struct {
	ID        string      `json:"id"`
	Label     string      `json:"label"`
	Remaining json.Number `json:"remaining"`
	Unit      string      `json:"unit"`
	Tone      string      `json:"tone"`
}

type reportDetail struct {
	ID    string `json:"id"`
	Label string `json:"label"`
	Value string `json:"value"`
	Tone  string `json:"tone"`
}

type reportProblem struct {
	Kind   string `json:"kind"`
	Status int    `json:"status,omitempty"`
	Detail string `json:"detail,omitempty"`
}

// Report is what a usage source of a host's plugin returns for an answer of ReadQuota, with its error: available with windows and balances,
// unavailable with a problem, or error with a text. That the endpoint is throttled is an error, and no problem of the login. Windows are named
// by their lengths. A balance in another currency than USD is a detail, as such a report has no unit for it.
func Report(q usagefake.Quota, err error) []byte {
	switch {
	case errors.Is(err, usagefake.ErrSignedOut), err == nil && q.Status == usagefake.NeedsAuth:
		return unavailable(reportProblem{Kind: "rejected", Status: http.StatusUnauthorized})
	case errors.Is(err, usagefake.ErrUnsupported):
		return unavailable(reportProblem{Kind: "no_quota", Detail: err.Error()})
	case err != nil:
		return encode(struct {
			Status string `json:"status"`
			Error  string `json:"error"`
		}{"error", err.Error()})
	case q.Status == usagefake.Unsupported:
		return unavailable(reportProblem{Kind: "no_quota", Detail: q.Reason})
	}
	out := struct {
		Status    string          `json:"status"`
		PlanLabel string          `json:"planLabel,omitempty"`
		Windows   []reportWindow  `json:"windows"`
		Balances  []reportBalance `json:"balances,omitempty"`
		Details   []reportDetail  `json:"details,omitempty"`
	}{Status: "available", PlanLabel: q.Plan, Windows: []reportWindow{}}
	for _, w := range q.Windows {
		out.Windows = append(out.Windows, windowOf(w))
	}
	if b := q.Balance; b != nil {
		tone := "ok"
		if b.Total <= 0 || b.Unavailable {
			tone = "danger"
		}
		if b.Currency == "USD" {
			out.Balances = append(out.Balances, reportBalance{"account", b.Label, json.Number(b.Total.String()), "usd", tone})
		} else {
			out.Details = append(out.Details, reportDetail{"account", b.Label, b.Total.String() + " " + b.Currency, tone})
		}
	}
	return encode(out)
}

func unavailable(p reportProblem) []byte {
	return encode(struct {
		Status  string        `json:"status"`
		Problem reportProblem `json:"problem"`
	}{"unavailable", p})
}

func windowOf(w usagefake.Window) reportWindow {
	out := reportWindow{ID: w.ID, Label: w.Label, ResetsAt: iso(w.ResetsAt), Tone: "default"}
	switch w.DurationMins {
	case 0:
	case fiveHours:
		out.ID = "five_hour"
	case week:
		out.ID = "weekly"
	default:
		out.ID = fmt.Sprintf("%ds", w.DurationMins*60)
	}
	if w.Scope != "" {
		out.ID = strings.ToLower(w.Scope) + ":" + out.ID
	}
	if used := number(w.UsedPercent); used != nil {
		left := max(0, all-*used)
		out.UsedPct, out.RemainingPct = used, &left
		switch {
		case *used > 90:
			out.Tone = "danger"
		case *used >= 70:
			out.Tone = "warning"
		default:
			out.Tone = "ok"
		}
	}
	return out
}

// UsageLimit is the detail of an error of the class usage_limit, which ends a turn while a window is used up.
func UsageLimit(e *usagefake.LimitError) []byte {
	return encode(struct {
		Kind         string  `json:"kind"`
		ResetsAt     *string `json:"resetsAt,omitempty"`
		EpochSeconds *int64  `json:"resetsAtEpochSeconds,omitempty"`
	}{"usage-limit", iso(e.Window.ResetsAt), seconds(e.Window.ResetsAt)})
}
