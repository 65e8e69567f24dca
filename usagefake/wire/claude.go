package wire

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/understudy-go/understudy/usagefake"
)

type claudeSlot struct {
	Utilization *float64 `json:"utilization"`
	ResetsAt    *string  `json:"resets_at"`
}

type claudeScope struct {
	Model struct {
		DisplayName string `json:"display_name"`
	} `json:"model"`
}

type claudeLimit struct {
	Kind     string       `json:"kind"`
	Percent  *float64     `json:"percent"`
	ResetsAt *string      `json:"resets_at"`
	Scope    *claudeScope `json:"scope"`
}

// claudeExtra is what the endpoint says of a purse for extra usage that nobody has opened.
const claudeExtra = `{"is_enabled":false,"monthly_limit":null,"used_credits":null,"utilization":null,"currency":null,"decimal_places":null}`

// ClaudeUsage is the answer of Claude's usage endpoint, /api/oauth/usage: percentages from 0 to 100 and ISO times, in slots by name, and in
// the newer list of limits, which counts where both are read. As with the real one there is, beside windows, a slot with a code name, which says
// nothing and is to be ignored. A window that has no slot is in the list alone.
func ClaudeUsage(q usagefake.Quota) []byte {
	out := struct {
		FiveHour     *claudeSlot     `json:"five_hour"`
		SevenDay     *claudeSlot     `json:"seven_day"`
		SevenDayApps *claudeSlot     `json:"seven_day_oauth_apps"`
		Opus         *claudeSlot     `json:"seven_day_opus"`
		Sonnet       *claudeSlot     `json:"seven_day_sonnet"`
		CodeName     *claudeSlot     `json:"amber_ladder,omitempty"`
		Limits       []claudeLimit   `json:"limits"`
		Extra        json.RawMessage `json:"extra_usage"`
	}{Limits: []claudeLimit{}, Extra: json.RawMessage(claudeExtra)}
	if len(q.Windows) > 0 {
		out.CodeName = &claudeSlot{Utilization: new(float64)}
	}
	slots := map[string]**claudeSlot{"five_hour": &out.FiveHour, "seven_day": &out.SevenDay, "seven_day_opus": &out.Opus, "seven_day_sonnet": &out.Sonnet}
	for _, w := range q.Windows {
		at := claudeTime(w.ResetsAt)
		if slot := slots[claudeType(w)]; slot != nil {
			*slot = &claudeSlot{number(w.UsedPercent), at}
		}
		limit := claudeLimit{Kind: claudeKind(w), Percent: number(w.UsedPercent), ResetsAt: at}
		if w.Scope != "" {
			limit.Scope = new(claudeScope)
			limit.Scope.Model.DisplayName = w.Scope
		}
		out.Limits = append(out.Limits, limit)
	}
	return encode(out)
}

// claudeTime has microseconds and an offset, as the endpoint writes it.
func claudeTime(t time.Time) *string {
	if t.IsZero() {
		return nil
	}
	s := t.UTC().Format("2006-01-02T15:04:05.000000-07:00")
	return &s
}

// claudeType is a window's name, which goes by its length, as its place says nothing. "" is none: the type has no other words.
func claudeType(w usagefake.Window) string {
	switch model := strings.ToLower(w.Scope); {
	case minutes(w) == fiveHours && model == "":
		return "five_hour"
	case minutes(w) == week && model == "":
		return "seven_day"
	case minutes(w) == week && (model == "opus" || model == "sonnet"):
		return "seven_day_" + model
	default:
		return ""
	}
}

func claudeKind(w usagefake.Window) string {
	switch {
	case minutes(w) == week && w.Scope != "":
		return "weekly_scoped"
	case minutes(w) == week:
		return "weekly_all"
	case minutes(w) == fiveHours && w.Scope == "":
		return "session"
	default:
		return w.ID
	}
}

// warnAt is the percentage from which on an event warns.
const warnAt = 90

type rateLimitInfo struct {
	Status             string   `json:"status"`
	ResetsAt           *int64   `json:"resetsAt,omitempty"`
	RateLimitType      string   `json:"rateLimitType,omitempty"`
	Utilization        *float64 `json:"utilization,omitempty"`
	SurpassedThreshold *float64 `json:"surpassedThreshold,omitempty"`
}

// ClaudeRateLimitEvents are the lines of type rate_limit_event that Claude's stream would have for a quota: one a window, or one with a status
// alone where there is none, and no line for an account that has no quota. A window at 90 percent is allowed_warning, and one at 100 rejected. One
// of a length that is not said, not even by its id, session or weekly, has a status alone as well.
func ClaudeRateLimitEvents(q usagefake.Quota, u Units) (out [][]byte) {
	if q.Status != usagefake.OK && q.Status != "" {
		return nil
	}
	unit := func(percent float64) *float64 {
		if !u.Percent {
			percent /= all
		}
		return number(percent)
	}
	event := func(info rateLimitInfo) {
		out = append(out, encode(struct {
			Type string        `json:"type"`
			Info rateLimitInfo `json:"rate_limit_info"`
		}{"rate_limit_event", info}))
	}
	for _, w := range q.Windows {
		info := rateLimitInfo{Status: "allowed", RateLimitType: claudeType(w), ResetsAt: seconds(w.ResetsAt), Utilization: unit(w.UsedPercent)}
		if info.ResetsAt != nil && u.Millis {
			*info.ResetsAt = w.ResetsAt.UnixMilli()
		}
		switch {
		case w.UsedPercent >= all:
			info.Status = "rejected"
		case w.UsedPercent >= warnAt:
			info.Status = "allowed_warning"
			info.SurpassedThreshold = unit(warnAt)
		}
		if minutes(w) == 0 {
			info = rateLimitInfo{Status: info.Status}
		}
		event(info)
	}
	if len(q.Windows) == 0 {
		status := "allowed"
		if q.LimitReached() {
			status = "rejected"
		}
		event(rateLimitInfo{Status: status})
	}
	return out
}

// ClaudeTranscript is the token usage as lines of a transcript of Claude's, one a record. ccusage reads them from a file *.jsonl in a folder
// below projects, in the folder that CLAUDE_CONFIG_DIR names.
func ClaudeTranscript(records []usagefake.TokenRecord) []byte {
	type usage struct {
		Input      int64 `json:"input_tokens"`
		CacheWrite int64 `json:"cache_creation_input_tokens"`
		CacheRead  int64 `json:"cache_read_input_tokens"`
		Output     int64 `json:"output_tokens"`
	}
	type message struct {
		ID         string   `json:"id"`
		Type       string   `json:"type"`
		Role       string   `json:"role"`
		Model      string   `json:"model"`
		Content    []string `json:"content"`
		StopReason string   `json:"stop_reason"`
		Usage      usage    `json:"usage"`
	}
	type line struct {
		Type      string  `json:"type"`
		SessionID string  `json:"sessionId"`
		UUID      string  `json:"uuid"`
		RequestID string  `json:"requestId"`
		Timestamp *string `json:"timestamp"`
		Version   string  `json:"version"`
		Message   message `json:"message"`
	}
	var out []byte
	for i, r := range records {
		id := "_" + strconv.Itoa(i+1) // ccusage counts a message once
		out = append(out, encode(line{
			Type: "assistant", SessionID: "usagefake", UUID: "uuid" + id, RequestID: "req" + id, Timestamp: iso(r.At), Version: "2.0.0",
			Message: message{
				ID: "msg" + id, Type: "message", Role: "assistant", Model: r.Model, Content: []string{}, StopReason: "end_turn",
				Usage: usage{r.Input - r.CacheRead - r.CacheWrite, r.CacheWrite, r.CacheRead, r.Output},
			},
		})...)
		out = append(out, '\n')
	}
	return out
}
