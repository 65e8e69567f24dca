package standin

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Session is a session, as the platform's record has it.
type Session struct {
	UID            string  `json:"uid"`
	AgentUID       string  `json:"agent_uid"`
	EnvironmentUID string  `json:"organization_environment_uid"`
	UserUID        string  `json:"created_by_user_uid"`
	Handle         *string `json:"handle_unique_id"`
	Name           string  `json:"name"`
	Status         string  `json:"status"` // idle, or running while a turn runs
	Provider       string  `json:"llm_provider"`
	Model          string  `json:"llm_model"`
	Thinking       string  `json:"llm_thinking"`
	Archived       bool    `json:"is_archived"`
	StartedAt      string  `json:"started_at"`
	UpdatedAt      string  `json:"updated_at"`
	ArchivedAt     *string `json:"archived_at"`

	Transcript []Message `json:"-"`
}

// session is a session that is kept.
type session struct {
	Session
	turns    int
	messages int // so far, for their ids
}

const (
	idle    = "idle"
	working = "running"
)

// Message is a message of a transcript.
type Message struct {
	ID         string     `json:"id"`
	Role       string     `json:"role"` // user or assistant
	CreatedAt  string     `json:"createdAt"`
	Content    []Part     `json:"content"`
	Provenance Provenance `json:"provenance"`
}

// Provenance is where a message comes from.
type Provenance struct {
	Origin         string `json:"origin"`
	TargetAgentUID string `json:"targetAgentUid"`
}

// Part is a part of a message, which is text, reasoning or a tool-call.
type Part struct {
	Type       string          `json:"type"`
	Text       string          `json:"text,omitempty"`
	ToolCallID string          `json:"toolCallId,omitempty"`
	ToolName   string          `json:"toolName,omitempty"`
	Args       json.RawMessage `json:"args,omitempty"`
	Result     json.RawMessage `json:"result,omitempty"`
	IsError    bool            `json:"isError,omitempty"`
}

// Sessions are all sessions, in the order in which they were made, with their transcripts.
func (s *Server) Sessions() []Session {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]Session, len(s.sessions))
	for i, one := range s.sessions {
		all[i] = one.Session
		all[i].Transcript = slices.Clone(one.Transcript)
	}
	return all
}

// timeText is a time as the platform writes it.
func timeText(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

const sessionPath = "/api/v1/agent-sessions/{session}/"

// sessionRoutes are the platform's for sessions.
func sessionRoutes() []route {
	on := Platform.on
	return []route{
		on("GET", "/api/v1/agent-sessions/", (*call).listSessions),
		on("GET", sessionPath, ofSession(func(c *call, one *session) error { return c.record(http.StatusOK, one) })),
		on("PATCH", sessionPath, ofSession((*call).changeSession)),
		on("DELETE", sessionPath, (*call).deleteSession),
		on("POST", sessionPath+"archive/", ofSession(func(c *call, one *session) error { return c.archive(one, true) })),
		on("POST", sessionPath+"unarchive/", ofSession(func(c *call, one *session) error { return c.archive(one, false) })),
		on("POST", sessionPath+"resolve-runtime-access/", ofSession((*call).runtimeAccess)),
		on("GET", sessionPath+"history/", ofSession((*call).history)),
		on("GET", sessionPath+"insights/", ofSession((*call).insights)),
		on("POST", "/api/v1/agents/{agent}/start-new-session/", (*call).startSession),
		on("POST", "/api/v1/agents/{agent}/sessions/get-or-create-session/", (*call).getOrCreateSession),
	}
}

// ofSession serves a request about a session that there is, with the server locked.
func ofSession(serve func(*call, *session) error) func(*call) error {
	return func(c *call) error {
		c.mu.Lock()
		defer c.mu.Unlock()
		one := c.session(c.vars["session"])
		if one == nil {
			return refuse(http.StatusNotFound, "Not found.")
		}
		return serve(c, one)
	}
}

// session is one by its id; nil: there is none. s.mu is locked.
func (s *Server) session(uid string) *session { return s.byUID[uid] }

// record answers with the record of a session.
func (c *call) record(status int, one *session) error {
	c.json(status, one.Session)
	return nil
}

func (c *call) listSessions() error {
	q := c.request.Query
	environment := q.Get("organization_environment_uid")
	if environment == "" {
		return invalid("organization_environment_uid", "This query parameter is required.")
	}
	limit := 20
	if text := q.Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil {
			return invalid("limit", "A valid integer is required.")
		}
		limit = min(max(n, 1), 100)
	}
	offset := 0
	if text := q.Get("offset"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 {
			return invalid("offset", "A whole number from 0 is required.")
		}
		offset = n
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	found, err := c.filtered(q)
	if err != nil {
		return err
	}
	c.adopt(c.caller(), person{q.Get("created_by_user_uid"), environment})
	from := min(offset, len(found))
	to := min(from+limit, len(found))
	page := func(offset int) any {
		values := cloneValues(q)
		values.Set("offset", strconv.Itoa(offset))
		address, _, _ := strings.Cut(c.request.URL, "?")
		return address + "?" + values.Encode()
	}
	answer := struct {
		Count    int       `json:"count"`
		Next     any       `json:"next"`
		Previous any       `json:"previous"`
		Results  []Session `json:"results"`
	}{Count: len(found), Results: found[from:to]}
	if to < len(found) {
		answer.Next = page(to)
	}
	if from > 0 {
		answer.Previous = page(max(0, from-limit))
	}
	c.json(http.StatusOK, answer)
	return nil
}

// filtered are the sessions that a list asks for, in its order.
func (c *call) filtered(q url.Values) ([]Session, error) {
	agent := cmp.Or(q.Get("agent_uid"), q.Get("agent_id"))
	words := strings.ToLower(q.Get("q"))
	var archived *bool
	if text := q.Get("is_archived"); text != "" {
		is, err := strconv.ParseBool(text)
		if err != nil {
			return nil, invalid("is_archived", fmt.Sprintf("%q is not true or false.", text))
		}
		archived = &is
	}
	found := []Session{}
	for _, one := range c.sessions {
		switch {
		case archived != nil && *archived != one.Archived:
		case agent != "" && agent != one.AgentUID:
		case words != "" && !strings.Contains(strings.ToLower(one.words()), words):
		default:
			found = append(found, one.Session)
		}
	}
	by := func(s Session) string { return s.StartedAt }
	switch order := cmp.Or(q.Get("ordering"), "-started_at"); order {
	case "-started_at":
	case "-archived_at":
		by = func(s Session) string {
			if s.ArchivedAt == nil {
				return ""
			}
			return *s.ArchivedAt
		}
	default:
		return nil, invalid("ordering", fmt.Sprintf("%q is not one of -started_at, -archived_at.", order))
	}
	slices.Reverse(found) // of two of one instant the later one was made later
	slices.SortStableFunc(found, func(a, b Session) int { return strings.Compare(by(b), by(a)) })
	return found, nil
}

// words are all that can be searched for in a session.
func (s *session) words() string {
	var b strings.Builder
	b.WriteString(s.Name)
	for _, m := range s.Transcript {
		for _, p := range m.Content {
			b.WriteString("\n" + p.Text)
		}
	}
	return b.String()
}

func (c *call) changeSession(one *session) error {
	var in struct {
		Provider *string `json:"llm_provider"`
		Model    *string `json:"llm_model"`
		Thinking *string `json:"llm_thinking"`
	}
	if err := c.decode(&in); err != nil {
		return err
	}
	if in.Provider == nil || in.Model == nil {
		return &problem{http.StatusBadRequest, missing(map[string]bool{"llm_provider": in.Provider == nil, "llm_model": in.Model == nil})}
	}
	if c.running(one.UID) != nil {
		return refuse(http.StatusConflict, "The model cannot be changed while a turn runs.", "error_code", "agent_session_selection_runtime_active")
	}
	if c.catalog.find(*in.Provider, *in.Model) == nil {
		return invalid("llm_model", fmt.Sprintf("%s/%s is not in the catalog.", *in.Provider, *in.Model))
	}
	one.Provider, one.Model = *in.Provider, *in.Model
	if in.Thinking != nil {
		one.Thinking = *in.Thinking
	}
	one.touch()
	return c.record(http.StatusOK, one)
}

// missing is the body of an answer to fields that are not there.
func missing(fields map[string]bool) map[string]any {
	body := map[string]any{}
	for name, is := range fields {
		if is {
			body[name] = []string{"This field is required."}
		}
	}
	return body
}

func (s *session) touch() { s.UpdatedAt = timeText(time.Now()) }

// deleteSession stops the turn that runs, and waits for its end.
func (c *call) deleteSession() error {
	uid := c.vars["session"]
	c.mu.Lock()
	one := c.session(uid)
	if one == nil {
		c.mu.Unlock()
		return refuse(http.StatusNotFound, "Not found.")
	}
	t := c.running(uid)
	var ended chan struct{}
	if t != nil {
		ended = t.ended
	}
	delete(c.readiness.sessions, uid)
	delete(c.byUID, uid)
	c.sessions = slices.DeleteFunc(c.sessions, func(other *session) bool { return other == one })
	c.mu.Unlock()
	if t != nil {
		t.stop(stoppedByDelete)
		for _, end := range []chan struct{}{t.settled, ended} {
			select {
			case <-end:
			case <-c.r.Context().Done(): // a client that does not read its stream keeps nobody who has gone
			}
		}
	}
	if one.turns > 0 {
		_ = c.agent.StopSession(c.r.Context(), uid)
	}
	c.nothing()
	return nil
}

func (c *call) archive(one *session, archived bool) error {
	one.Archived, one.ArchivedAt = archived, nil
	if archived {
		now := timeText(time.Now())
		one.ArchivedAt = &now
	}
	one.touch()
	return c.record(http.StatusOK, one)
}

// newSession makes a session. s.mu is locked.
func (s *Server) newSession(by caller, agent string) *session {
	uid := s.nextID(sessionID)
	return s.addSession(by, agent, uid, fmt.Sprintf("Session %d", s.ids[sessionID]))
}

// addSession makes a session of an id that no other one has. s.mu is locked.
func (s *Server) addSession(by caller, agent, uid, name string) *session {
	who, now := s.whoIs(by), timeText(time.Now())
	s.nameAgent(agent)
	one := &session{Session: Session{
		UID: uid, AgentUID: agent, EnvironmentUID: who.environment, UserUID: who.user, Name: name, Status: idle,
		Provider: defaultProvider, Model: defaultModel, Thinking: defaultThinking, StartedAt: now, UpdatedAt: now,
	}}
	s.sessions = append(s.sessions, one)
	s.byUID[one.UID] = one
	return one
}

func (c *call) startSession() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	one := c.newSession(c.caller(), c.vars["agent"])
	handle := c.nextID(handleID)
	one.Handle = &handle
	return c.record(http.StatusCreated, one)
}

func (c *call) getOrCreateSession() error {
	var in struct {
		Session  string `json:"session_uid"`
		Handle   string `json:"handle_unique_id"`
		Provider string `json:"llm_provider"`
		Model    string `json:"llm_model"`
	}
	if err := c.decode(&in); err != nil {
		return err
	}
	if (in.Session == "") == (in.Handle == "") {
		return invalid("non_field_errors", "Give exactly one of session_uid and handle_unique_id.")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	agent, environment := c.vars["agent"], c.whoIs(c.caller()).environment
	if (in.Provider != "" || in.Model != "") && c.catalog.find(in.Provider, in.Model) == nil {
		return invalid("llm_model", fmt.Sprintf("%s/%s is not in the catalog.", in.Provider, in.Model))
	}
	if in.Session != "" {
		one := c.session(in.Session)
		if one == nil || one.AgentUID != agent {
			return refuse(http.StatusNotFound, "Not found.")
		}
		return c.record(http.StatusOK, one)
	}
	for _, one := range c.sessions {
		if one.AgentUID == agent && one.EnvironmentUID == environment && one.Handle != nil && *one.Handle == in.Handle {
			return c.record(http.StatusOK, one)
		}
	}
	one := c.newSession(c.caller(), agent)
	one.Handle = &in.Handle
	if in.Model != "" {
		one.Provider, one.Model = in.Provider, in.Model
	}
	return c.record(http.StatusCreated, one)
}

func (c *call) history(one *session) error {
	if len(one.Transcript) == 0 {
		return refuse(http.StatusNotFound, "Nothing was written to this session yet.")
	}
	var inProgress any
	if t := c.running(one.UID); t != nil {
		inProgress = t.message()
	}
	c.json(http.StatusOK, c.historyOf(one, one.Status, nil, inProgress))
	return nil
}

// historyOf is the history of a session. s.mu is locked.
func (c *call) historyOf(one *session, status string, failed, inProgress any) map[string]any {
	return map[string]any{
		"version": 1,
		"session": map[string]any{
			"sessionId": one.UID, "threadId": one.UID, "agentName": c.identity.AgentName, "agentUid": one.AgentUID, "agentSessionUid": one.UID,
			"status": status, "startedAt": orNull(one.StartedAt), "updatedAt": orNull(one.UpdatedAt), "error": failed,
		},
		"messages": one.Transcript, "inProgressMessage": inProgress,
	}
}

func (c *call) insights(one *session) error {
	if len(one.Transcript) == 0 {
		c.json(http.StatusOK, map[string]any{"has_insights": false})
		return nil
	}
	characters := map[string]int{}
	calls := 0
	for _, m := range one.Transcript {
		for _, p := range m.Content {
			characters[m.Role] += utf8.RuneCountInString(p.Text)
			if p.Type == "tool-call" {
				calls++
			}
		}
	}
	in, out := tokens(characters["user"]), tokens(characters["assistant"])
	var window, percent any // nobody knows of each model
	if _, m := c.catalog.lookUp(one.Provider, one.Model); m != nil && m.ContextWindow != nil {
		window, percent = *m.ContextWindow, json.Number(strconv.FormatFloat(float64(in+out)*100/float64(*m.ContextWindow), 'f', 1, 64))
	}
	c.json(http.StatusOK, map[string]any{
		"has_insights": true,
		"model":        map[string]any{"provider": one.Provider, "model": one.Model, "thinking": one.Thinking},
		"session":      map[string]any{"messages": len(one.Transcript), "toolCalls": calls, "turns": one.turns},
		"usage":        map[string]any{"inputTokens": in, "outputTokens": out, "totalTokens": in + out},
		"context":      map[string]any{"contextWindow": window, "usedTokens": in + out, "percentOfContextWindow": percent},
	})
	return nil
}
