package standin

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Profile is what a server stands in for.
type Profile string

const (
	// ProfilePlatform is a platform, and the runtime of its agents. It is the default.
	ProfilePlatform Profile = "platform"

	// ProfileLocal is the runtime of one agent on a developer's own machine, as a page has it below a path of its own origin. It takes no token,
	// and whatever is not below its path is somebody else's: a platform beside it is another server, behind [WithPassThrough].
	//
	// Its sessions are made by their first message. A client may call them as it likes; one whose name begins with "local-" is known by that name
	// in [Server.Sessions], [InSession] and [Server.AwaitHeld], and any other by one that is made of it, which the stream's headers have.
	ProfileLocal Profile = "local"
)

// WithProfile is what the server stands in for; [ProfilePlatform] by default.
func WithProfile(p Profile) Option { return func(o *options) { o.profile = p } }

// WithLocalPath is below which path the server of a [ProfileLocal] is, on any origin; "/__agent__" by default, and "/" is everything.
func WithLocalPath(path string) Option { return func(o *options) { o.local.path = path } }

// WithoutSessionList has the server of a [ProfileLocal] be an older one, which neither lists its sessions nor tells their histories: it answers
// both with 404, and a client is to do without. Such requests are not unhandled.
func WithoutSessionList() Option { return func(o *options) { o.local.older = true } }

// local is what a local runtime has of its own.
type local struct {
	path  string // below which it is, without a slash at its end
	older bool
}

// DefaultLocalPath is where a local runtime is unless somebody says otherwise.
const DefaultLocalPath = "/__agent__"

// fitProfile checks what is said of the profile, and fills in what is not.
func (o *options) fitProfile() error {
	switch o.profile {
	case "", ProfilePlatform:
		if o.local != (local{}) {
			return fmt.Errorf("standin: WithLocalPath and WithoutSessionList are for WithProfile(ProfileLocal), and the profile is %s", ProfilePlatform)
		}
		o.profile = ProfilePlatform
	case ProfileLocal:
		path := cmp.Or(o.local.path, DefaultLocalPath)
		if u, err := url.Parse(path); err != nil || u.Path != path || path[0] != '/' {
			return fmt.Errorf("standin: the path of the local runtime is %.80q; it must be one such as %q", path, DefaultLocalPath)
		}
		o.local.path = strings.TrimRight(path, "/")
	default:
		return fmt.Errorf("standin: there is no profile %.80q; use %s or %s", string(o.profile), ProfilePlatform, ProfileLocal)
	}
	return nil
}

// below is what of a path is below another one; false: it is elsewhere.
func below(path, base string) (rest string, ok bool) {
	rest, ok = strings.CutPrefix(path, base)
	if rest == "" {
		rest = "/"
	}
	return rest, ok && rest[0] == '/'
}

// localRoutes are those of a local runtime.
func localRoutes() []route {
	on := AgentRuntime.on
	says := func(body map[string]any) func(*call) error {
		return func(c *call) error {
			c.json(http.StatusOK, body)
			return nil
		}
	}
	return []route{
		on("GET", "/ready", says(map[string]any{"ok": true, "runtime": "stand-in", "startup_ready": true})),
		on("GET", "/health", says(map[string]any{"ok": true, "runtime": "stand-in", "mode": "local"})),
		on("GET", chatPath, (*call).ready),
		on("POST", chatPath, (*call).localChat),
		on("POST", chatPath+"/session/cancel", (*call).localCancel),
		on("GET", chatPath+"/session-model", (*call).localModel),
		on("PUT", chatPath+"/session-model", (*call).changeLocalModel),
		on("GET", chatPath+"/model-providers", (*call).listProviders),
		on("GET", "/api/local/v1/agent", (*call).localAgent),
		on("GET", "/api/local/v1/chat-sessions", newer((*call).listLocal)),
		on("GET", "/api/local/v1/chat-sessions/{session}/history", newer((*call).localHistory)),
	}
}

// newer serves what an older runtime does not have. That is a route all the same: its client asks for it to see whether it is there.
func newer(serve func(*call) error) func(*call) error {
	return func(c *call) error {
		if c.local.older {
			return refuse(http.StatusNotFound, "Not found.")
		}
		return serve(c)
	}
}

const localPrefix = "local-"

// localName is the name of a session that can be kept as it is: it stands in paths and in headers.
var localName = regexp.MustCompile(`^` + localPrefix + `[\w.-]{1,120}$`)

// localUID is by which id a session is known that a client calls something: the first name that is not "". None is the session that there is when
// a client has chosen none.
func localUID(names ...string) string {
	name := cmp.Or(strings.TrimSpace(cmp.Or(names...)), "default")
	switch {
	case localName.MatchString(name):
		return name
	case name == "default":
		return localPrefix + "stand-in-default"
	}
	sum := sha256.Sum256([]byte(name))
	return localPrefix + "stand-in-" + hex.EncodeToString(sum[:8])
}

// decodeLocal is decode for a local runtime, which has 422 for any body that is not as it must be, and always a detail.
func (c *call) decodeLocal(into any) error {
	err := c.decode(into)
	p := (*problem)(nil)
	if !errors.As(err, &p) {
		return err
	}
	detail, ok := p.body["detail"].(string)
	if !ok {
		fields, _ := json.Marshal(p.body)
		detail = "The body is not as it must be: " + string(fields)
	}
	return refuse(http.StatusUnprocessableEntity, detail)
}

func noLocalSession() error {
	return refuse(http.StatusNotFound, "There is no such session.", "error", "session_not_found")
}

func (c *call) localChat() error {
	var in struct {
		Session  string       `json:"sessionUid"`
		Runtime  string       `json:"runtime_session_uid"` // as the platform's clients call it
		Agent    string       `json:"agent_session_uid"`
		Messages chatMessages `json:"messages"`
		Message  any          `json:"message"` // the text alone, of a client that keeps no messages
	}
	if err := c.decodeLocal(&in); err != nil {
		return err
	}
	text := in.Messages.text()
	if alone, ok := in.Message.(string); ok && text == "" {
		text = alone
	}
	t, err := c.beginLocalTurn(localUID(in.Session, in.Runtime, in.Agent), text)
	if err != nil {
		return err
	}
	h := c.w.Header()
	h.Set("X-Agent-Session-Uid", t.session.UID)
	h.Set("X-Vercel-Ai-Ui-Message-Stream", "v1")
	return c.stream(t, func(ctx context.Context) error { return c.play(ctx, t) })
}

// beginLocalTurn makes a turn, and the session if it is the first of that.
func (c *call) beginLocalTurn(uid, text string) (*turn, error) {
	if strings.TrimSpace(text) == "" {
		return nil, refuse(http.StatusUnprocessableEntity, "The newest message of the user has no text.")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.closed:
		return nil, refuse(http.StatusServiceUnavailable, "The server is closing.")
	case c.running(uid) != nil:
		return nil, refuse(http.StatusConflict, "The session is answering already.", "error", "session_busy")
	}
	one := c.session(uid)
	if one == nil {
		one = c.addSession(c.caller(), c.identity.AgentUID, uid, firstOf(text, titleLength))
		one.Thinking = "" // as the model has it
	}
	return c.begin(one, text, one.Provider, one.Model), nil
}

// How many characters of a text a list shows at most.
const (
	titleLength   = 80
	previewLength = 160
)

// firstOf is the beginning of a text.
func firstOf(text string, characters int) string {
	text = strings.TrimSpace(text)
	if all := []rune(text); len(all) > characters {
		return string(all[:characters])
	}
	return text
}

func (c *call) localCancel() error {
	var in struct {
		Session string `json:"sessionUid"`
		Runtime string `json:"runtime_session_uid"`
	}
	if err := c.decodeLocal(&in); err != nil {
		return err
	}
	uid, state := localUID(in.Session, in.Runtime), "not_running"
	c.mu.Lock()
	t := c.running(uid)
	c.mu.Unlock()
	if t != nil {
		t.stop(stoppedByCancel)
		<-t.settled
		state = "cancelled"
	}
	c.json(http.StatusOK, map[string]any{"ok": true, "sessionUid": uid, "agentSessionUid": uid, "state": state, "working": false})
	return nil
}

func (c *call) localModel() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	one := c.session(localUID(c.request.Query.Get("sessionUid")))
	if one == nil {
		return noLocalSession()
	}
	return c.modelOf(one)
}

// modelOf answers with the model of a session.
func (c *call) modelOf(one *session) error {
	c.json(http.StatusOK, map[string]any{
		"sessionUid": one.UID,
		"model":      map[string]any{"provider": one.Provider, "model": one.Model, "thinkingLevel": orNull(one.Thinking)},
	})
	return nil
}

// orNull is a text, or null in the place of none.
func orNull(text string) any {
	if text == "" {
		return nil
	}
	return text
}

func (c *call) changeLocalModel() error {
	var in struct {
		Session  string `json:"sessionUid"`
		Provider string `json:"provider"`
		Model    string `json:"model"`
		Thinking string `json:"thinkingLevel"`
	}
	if err := c.decodeLocal(&in); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	one := c.session(localUID(in.Session))
	switch {
	case one == nil:
		return noLocalSession()
	case c.running(one.UID) != nil:
		return refuse(http.StatusConflict, "The model cannot be changed while a turn runs.", "error", "session_busy")
	case in.Provider == "" || in.Model == "":
		return refuse(http.StatusUnprocessableEntity, "Give both provider and model.")
	case c.catalog.find(in.Provider, in.Model) == nil:
		return refuse(http.StatusUnprocessableEntity, fmt.Sprintf("%s/%s is not in the catalog.", in.Provider, in.Model))
	}
	one.Provider, one.Model, one.Thinking = in.Provider, in.Model, in.Thinking
	one.touch()
	return c.modelOf(one)
}

func (c *call) localAgent() error {
	name := c.identity.AgentName
	c.json(http.StatusOK, map[string]any{"name": name, "displayName": name, "description": "An agent that plays what a test tells it to."})
	return nil
}

// listed is a session as a local runtime lists it.
type listed struct {
	UID       string `json:"sessionUid"`
	Title     string `json:"title"`
	Messages  int    `json:"messageCount"`
	Preview   any    `json:"latestMessagePreview"`
	CreatedAt string `json:"createdAt"`
	UpdatedAt string `json:"updatedAt"`
	Working   bool   `json:"working"`

	turn int // the newest, which says which of two sessions of one instant is the newer one
}

// place is where a session stands in the list. A page goes on behind a place, so that nothing is in two pages when something new comes.
func (l listed) place() string {
	return base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "%s %d", l.UpdatedAt, l.turn))
}

// placed is what a place says of the session that stands there.
func placed(place string) (at listed, ok bool) {
	text, _ := base64.RawURLEncoding.DecodeString(place)
	_, err := fmt.Sscanf(string(text), "%s %d", &at.UpdatedAt, &at.turn)
	return at, err == nil && at.place() == place
}

// newestFirst is the order of the list.
func newestFirst(a, b listed) int {
	return cmp.Or(strings.Compare(b.UpdatedAt, a.UpdatedAt), cmp.Compare(b.turn, a.turn))
}

func (c *call) listLocal() error {
	limit := 50
	if text := c.request.Query.Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > 100 {
			return refuse(http.StatusUnprocessableEntity, "limit must be a whole number from 1 to 100.")
		}
		limit = n
	}
	cursor := c.request.Query.Get("cursor")
	behind, ok := placed(cursor)
	if cursor != "" && !ok {
		return refuse(http.StatusBadRequest, "cursor is not one that this list has given.")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	newest := map[string]int{}
	for _, t := range c.turns {
		newest[t.session.UID] = t.number
	}
	all := []listed{}
	for _, one := range c.sessions {
		l := c.listed(one, newest[one.UID])
		if cursor == "" || newestFirst(behind, l) < 0 {
			all = append(all, l)
		}
	}
	slices.SortFunc(all, newestFirst)
	var next any
	if len(all) > limit {
		all = all[:limit]
		next = all[limit-1].place()
	}
	c.json(http.StatusOK, map[string]any{"sessions": all, "nextCursor": next})
	return nil
}

// listed is a session for the list. s.mu is locked.
func (s *Server) listed(one *session, turn int) listed {
	messages := slices.Clone(one.Transcript)
	if now := s.inProgress(one); now != nil {
		messages = append(messages, *now)
	}
	var preview string
	for _, m := range messages {
		for _, p := range m.Content {
			if p.Type == "text" && strings.TrimSpace(p.Text) != "" {
				preview = p.Text
			}
		}
	}
	return listed{one.UID, one.Name, len(messages), orNull(firstOf(preview, previewLength)), one.StartedAt, one.UpdatedAt, s.running(one.UID) != nil, turn}
}

// inProgress is what there is of the answer of the turn that runs; nil: nothing yet, or none runs. s.mu is locked.
func (s *Server) inProgress(one *session) *Message {
	if t := s.running(one.UID); t != nil && len(t.parts) > 0 {
		return t.message()
	}
	return nil
}

// localHistory has a history for a session that nobody has written to yet, too: by 404 its client would take the runtime for an older one.
func (c *call) localHistory() error {
	uid := localUID(c.vars["session"])
	c.mu.Lock()
	defer c.mu.Unlock()
	one := c.session(uid)
	if one == nil {
		one = &session{Session: Session{UID: uid, AgentUID: c.identity.AgentUID, Transcript: []Message{}}}
	}
	status, failed := string(Completed), any(nil)
	for _, t := range slices.Backward(c.turns) {
		if t.session != one {
			continue
		}
		switch t.status {
		case Streaming:
			status = working
		case Failed:
			status, failed = "error", t.failed
		}
		break
	}
	var now any
	if m := c.inProgress(one); m != nil {
		now = m
	}
	c.json(http.StatusOK, c.historyOf(one, status, failed, now))
	return nil
}
