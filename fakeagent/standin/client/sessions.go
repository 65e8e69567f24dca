package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// Session is the record of a session.
type Session struct {
	UID            string     `json:"uid"`
	AgentUID       string     `json:"agent_uid"`
	EnvironmentUID string     `json:"organization_environment_uid"`
	UserUID        string     `json:"created_by_user_uid"`
	Handle         *string    `json:"handle_unique_id"`
	Name           string     `json:"name"`
	Status         string     `json:"status" only:"idle running"`
	Provider       string     `json:"llm_provider"`
	Model          string     `json:"llm_model"`
	Thinking       string     `json:"llm_thinking"`
	Archived       bool       `json:"is_archived"`
	StartedAt      time.Time  `json:"started_at"`
	UpdatedAt      time.Time  `json:"updated_at"`
	ArchivedAt     *time.Time `json:"archived_at"`
}

// SessionPage is a page of a list of sessions.
type SessionPage struct {
	Count    int       `json:"count"`    // on all pages
	Next     *string   `json:"next"`     // the address of the next one; nil: there is none
	Previous *string   `json:"previous"` // likewise
	Results  []Session `json:"results"`
}

// ListOptions is which sessions are listed. What is zero is left to the server.
type ListOptions struct {
	UserUID  string
	AgentUID string
	Archived *bool
	Search   string // in names and transcripts
	Ordering string // -started_at or -archived_at
	Limit    int
	Offset   int
}

const sessionPath = "/api/v1/agent-sessions/{session}/"

// ListSessions lists the sessions of the client's environment.
func (c *Client) ListSessions(ctx context.Context, o ListOptions) (page SessionPage, err error) {
	query := url.Values{}
	set := func(name, value string) {
		if value != "" {
			query.Set(name, value)
		}
	}
	number := func(name string, n int) {
		if n != 0 {
			query.Set(name, strconv.Itoa(n))
		}
	}
	set("organization_environment_uid", c.cfg.EnvironmentUID)
	set("created_by_user_uid", o.UserUID)
	set("agent_uid", o.AgentUID)
	set("q", o.Search)
	set("ordering", o.Ordering)
	if o.Archived != nil {
		set("is_archived", strconv.FormatBool(*o.Archived))
	}
	number("limit", o.Limit)
	number("offset", o.Offset)
	_, err = c.ask(ctx, request{route: "GET /api/v1/agent-sessions/", query: query}, &page)
	return page, err
}

// GetSession is the record of a session.
func (c *Client) GetSession(ctx context.Context, sessionUID string) (one Session, err error) {
	_, err = c.ask(ctx, request{route: "GET " + sessionPath, vars: []string{sessionUID}}, &one)
	return one, err
}

// Selection is the model that a session answers by.
type Selection struct {
	Provider string `json:"llm_provider"`
	Model    string `json:"llm_model"`
	Thinking string `json:"llm_thinking,omitempty"` // "" stays as it is
}

// SetModel has a session answer by another model from now on.
func (c *Client) SetModel(ctx context.Context, sessionUID string, to Selection) (one Session, err error) {
	_, err = c.ask(ctx, request{route: "PATCH " + sessionPath, vars: []string{sessionUID}, body: to}, &one)
	return one, err
}

// DeleteSession deletes a session. A turn that runs is stopped first.
func (c *Client) DeleteSession(ctx context.Context, sessionUID string) error {
	_, err := c.ask(ctx, request{route: "DELETE " + sessionPath, vars: []string{sessionUID}, ok: []int{http.StatusNoContent}}, nil)
	return err
}

// Archive puts a session away.
func (c *Client) Archive(ctx context.Context, sessionUID string) (one Session, err error) {
	_, err = c.ask(ctx, request{route: "POST " + sessionPath + "archive/", vars: []string{sessionUID}}, &one)
	return one, err
}

// Unarchive is the contrary of [Client.Archive].
func (c *Client) Unarchive(ctx context.Context, sessionUID string) (one Session, err error) {
	_, err = c.ask(ctx, request{route: "POST " + sessionPath + "unarchive/", vars: []string{sessionUID}}, &one)
	return one, err
}

// RuntimeAccess is where the runtime of a session is, what it takes, and how far it is.
type RuntimeAccess struct {
	SessionUID  string      `json:"session_uid"`
	Mode        string      `json:"mode" only:"token"`
	RPCURL      string      `json:"rpc_url"`
	Token       string      `json:"token"`
	IsReady     bool        `json:"is_ready"`
	Interaction Interaction `json:"runtime_interaction"`
	Presence    Presence    `json:"runtime_presence"`
}

// Interaction is what may be done with a runtime.
type Interaction struct {
	State        string          `json:"state" only:"ready warning checking starting waking update_required updating update_failed unavailable"`
	CanSubmit    bool            `json:"can_submit"`
	Notice       json.RawMessage `json:"notice"`
	Operation    json.RawMessage `json:"operation"`
	RetryAfterMS *int64          `json:"retry_after_ms"`
}

// Presence is what the platform observes of a runtime.
type Presence struct {
	Phase      string    `json:"phase" only:"not_deployed observing idle provisioning pulling_image starting serving redeploying failed"`
	Replicas   Replicas  `json:"replicas"`
	Detail     *string   `json:"detail"`
	ObservedAt time.Time `json:"observed_at"`
	Wake       *Wake     `json:"wake"`
}

// Replicas is how many of a runtime there are to be, and are.
type Replicas struct {
	Desired int `json:"desired"`
	Actual  int `json:"actual"`
}

// Wake is a runtime that is woken.
type Wake struct {
	State    string     `json:"state" only:"requested in_progress serving failed expired superseded"`
	Deadline *time.Time `json:"deadline"`
}

// RuntimeAccess says where the runtime of a session is.
func (c *Client) RuntimeAccess(ctx context.Context, sessionUID string) (access RuntimeAccess, err error) {
	_, err = c.ask(ctx, request{route: "POST " + sessionPath + "resolve-runtime-access/", vars: []string{sessionUID}}, &access)
	return access, err
}

// History is what was written in a session.
type History struct {
	Version    int            `json:"version" only:"1"`
	Session    HistorySession `json:"session"`
	Messages   []Message      `json:"messages"`
	InProgress *Message       `json:"inProgressMessage"` // what there is so far of an answer; nil: no turn runs
}

// HistorySession is a session in its history.
type HistorySession struct {
	SessionID       string    `json:"sessionId"`
	ThreadID        string    `json:"threadId"`
	AgentName       string    `json:"agentName"`
	AgentUID        string    `json:"agentUid"`
	AgentSessionUID string    `json:"agentSessionUid"`
	Status          string    `json:"status" only:"idle running"`
	StartedAt       time.Time `json:"startedAt"`
	UpdatedAt       time.Time `json:"updatedAt"`
	Error           *string   `json:"error"`
}

// Message is a message of a history.
type Message struct {
	ID         string     `json:"id"`
	Role       string     `json:"role" only:"user assistant"`
	CreatedAt  time.Time  `json:"createdAt"`
	Content    []Part     `json:"content"`
	Provenance Provenance `json:"provenance"`
}

// Provenance is where a message comes from.
type Provenance struct {
	Origin         string `json:"origin"`
	TargetAgentUID string `json:"targetAgentUid"`
}

// Part is a part of a message, which is text, reasoning or a tool-call. Of a call that has not ended the end is missing.
type Part struct {
	Type       string          `json:"type"`
	Text       string          `json:"text"`
	ToolCallID string          `json:"toolCallId"`
	ToolName   string          `json:"toolName"`
	Args       json.RawMessage `json:"args"`
	Result     *Result         `json:"result"`
	IsError    bool            `json:"isError"`
}

func (Part) shape(kind string) any {
	switch kind {
	case "text", "reasoning":
		return struct {
			Type string `json:"type"`
			Text string `json:"text,omitempty"` // of one that has only begun there is none
		}{}
	case "tool-call":
		return struct {
			Type       string          `json:"type"`
			ToolCallID string          `json:"toolCallId"`
			ToolName   string          `json:"toolName"`
			Args       json.RawMessage `json:"args,omitempty"`
			Result     *Result         `json:"result,omitempty"`
			IsError    bool            `json:"isError,omitempty"`
		}{}
	}
	return nil
}

// Result is what a tool has returned.
type Result struct {
	Content []Content       `json:"content"`
	Details json.RawMessage `json:"details"` // may be null
}

// Content is a piece of a result.
type Content struct {
	Type string `json:"type" only:"text"`
	Text string `json:"text"`
}

// History is what was written in a session. It is an [Error] with the status 404 until something was.
func (c *Client) History(ctx context.Context, sessionUID string) (h History, err error) {
	_, err = c.ask(ctx, request{route: "GET " + sessionPath + "history/", vars: []string{sessionUID}}, &h)
	return h, err
}

// Insights is what is known of the work of a session. Until there is some, HasInsights is false and all else nil.
type Insights struct {
	HasInsights bool             `json:"has_insights"`
	Model       *InsightsModel   `json:"model,omitempty"`
	Session     *InsightsSession `json:"session,omitempty"`
	Usage       *InsightsUsage   `json:"usage,omitempty"`
	Context     *InsightsContext `json:"context,omitempty"`
}

// InsightsModel is the model of a session.
type InsightsModel struct {
	Provider string `json:"provider"`
	Model    string `json:"model"`
	Thinking string `json:"thinking"`
}

// InsightsSession counts what a session has.
type InsightsSession struct {
	Messages  int `json:"messages"`
	ToolCalls int `json:"toolCalls"`
	Turns     int `json:"turns"`
}

// InsightsUsage is how many tokens a session has used.
type InsightsUsage struct {
	InputTokens  int `json:"inputTokens"`
	OutputTokens int `json:"outputTokens"`
	TotalTokens  int `json:"totalTokens"`
}

// InsightsContext is how full the context is.
type InsightsContext struct {
	ContextWindow          int     `json:"contextWindow"`
	UsedTokens             int     `json:"usedTokens"`
	PercentOfContextWindow float64 `json:"percentOfContextWindow"`
}

// Insights is what is known of the work of a session.
func (c *Client) Insights(ctx context.Context, sessionUID string) (i Insights, err error) {
	route := "GET " + sessionPath + "insights/"
	_, err = c.ask(ctx, request{route: route, vars: []string{sessionUID}}, &i)
	for _, block := range []struct {
		name  string
		there bool
	}{{"model", i.Model != nil}, {"session", i.Session != nil}, {"usage", i.Usage != nil}, {"context", i.Context != nil}} {
		if err == nil && block.there != i.HasInsights {
			err = &Mismatch{route, []string{fmt.Sprintf("has_insights is %t, and that there is a %s is %t", i.HasInsights, block.name, block.there)}}
		}
	}
	return i, err
}

// StartSession makes a session with an agent.
func (c *Client) StartSession(ctx context.Context, agentUID string) (one Session, err error) {
	_, err = c.ask(ctx, request{route: "POST /api/v1/agents/{agent}/start-new-session/", vars: []string{agentUID}, ok: []int{http.StatusCreated}}, &one)
	return one, err
}

// SessionChoice is a session by its id, or by a handle that the client has for it: one of the two.
type SessionChoice struct {
	SessionUID string `json:"session_uid,omitempty"`
	Handle     string `json:"handle_unique_id,omitempty"`
	Provider   string `json:"llm_provider,omitempty"` // of a session that is made; "" is the server's choice
	Model      string `json:"llm_model,omitempty"`    // likewise
}

// GetOrCreateSession is a session with an agent, which is made if there is none with the handle.
func (c *Client) GetOrCreateSession(ctx context.Context, agentUID string, which SessionChoice) (one Session, created bool, err error) {
	status, err := c.ask(ctx, request{route: "POST /api/v1/agents/{agent}/sessions/get-or-create-session/", vars: []string{agentUID}, body: which,
		ok: []int{http.StatusOK, http.StatusCreated}}, &one)
	return one, status == http.StatusCreated, err
}
