package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"

	"github.com/understudy-go/understudy/fakeagent/script"
	"github.com/understudy-go/understudy/fakeagent/standin"
	"github.com/understudy-go/understudy/fakeagent/standin/client"
	"github.com/understudy-go/understudy/timelinekit/bubble"
)

// back is a back end with a session, and who asks it.
type back struct {
	*client.Client
	server  *standin.Server
	ctx     context.Context
	session client.Session
}

func newBack(opts ...standin.Option) *back {
	GinkgoHelper()
	b := &back{server: standin.New(GinkgoT(), opts...), ctx: context.Background()}
	b.Client = b.through(b.server.RoundTripper())
	b.session = must(b.StartSession(b.ctx, b.server.Identity().AgentUID))
	return b
}

// through is a client that asks by a round tripper.
func (b *back) through(t http.RoundTripper) *client.Client {
	GinkgoHelper()
	id := b.server.Identity()
	return must(client.New(client.Config{PlatformURL: id.PlatformURL, Token: "a token", EnvironmentUID: id.EnvironmentUID, HTTP: &http.Client{Transport: t}}))
}

func must[T any](v T, err error) T {
	GinkgoHelper()
	Expect(err).NotTo(HaveOccurred())
	return v
}

func (b *back) access() client.RuntimeAccess {
	GinkgoHelper()
	return must(b.RuntimeAccess(b.ctx, b.session.UID))
}

// chat has a turn, to its end.
func (b *back) chat(text string) []client.Frame {
	GinkgoHelper()
	return must(must(b.Chat(b.ctx, b.access(), b.session, text)).ReadAll())
}

// custom is the custom provider that a server begins with.
func (b *back) custom() client.CustomProvider {
	GinkgoHelper()
	return must(b.CustomProviders(b.ctx))[0]
}

// asking asks by a client. It is made when all is there that it asks for.
type asking func(*client.Client) (any, error)

// driven is a route that is asked.
type driven struct {
	method string // of the client
	route  string
	ready  func(*back) asking
	finds  types.GomegaMatcher
}

func record(name string) types.GomegaMatcher {
	return And(HaveField("UID", "00000000-0000-4000-8000-100000000001"), HaveField("Name", name), HaveField("Status", "idle"), HaveField("Provider", "stand-in-cloud"),
		HaveField("Model", "swift-1"), HaveField("Thinking", "medium"), HaveField("StartedAt", BeTemporally("==", time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC))))
}

var newModel = client.NewCustomModel{Name: "beta", DisplayName: "Beta", API: "openai-responses", Input: []string{"text", "image"}, Reasoning: true}

// reply is the frames of the default reply.
func reply(text string) []any {
	ids := func(id string) types.GomegaMatcher { return HaveField("ID", id) }
	usage := HaveField("Usage", And(HaveField("InputTokens", (len(text)+3)/4), HaveField("OutputTokens", BeNumerically(">", 0))))
	call := HaveField("ToolCallID", "call-1")
	piece := And(BeAssignableToTypeOf(client.TextDelta{}), ids("text-1"), HaveField("Delta", Not(BeEmpty())))
	thought := And(BeAssignableToTypeOf(client.ReasoningDelta{}), ids("reasoning-1"), HaveField("Delta", Not(BeEmpty())))
	return []any{
		client.Start{Kind: "start", MessageID: "message-2"}, client.StepStart{Kind: "start-step"},
		client.BlockStart{Kind: "reasoning-start", ID: "reasoning-1"}, thought, thought, client.BlockEnd{Kind: "reasoning-end", ID: "reasoning-1"},
		client.ToolCallStart{Kind: "tool-call-start", ID: "call-1", ToolCallID: "call-1", ToolName: "stand_in_search"},
		And(call, HaveField("ArgsText", HavePrefix(`{"`))), And(call, HaveField("ArgsText", HaveSuffix(`"}`))), client.ToolCallEnd{Kind: "tool-call-end", ToolCallID: "call-1"},
		And(call, HaveField("IsError", false), HaveField("Result.Content", HaveExactElements(client.Content{Type: "text", Text: "One page was found."}))),
		HaveField("Data.Sources", HaveExactElements(client.Source{Title: "Stand-in page", Detail: "What the stand-in knows of it"})),
		client.BlockStart{Kind: "text-start", ID: "text-1"}, piece, piece, piece, client.BlockEnd{Kind: "text-end", ID: "text-1"},
		And(BeAssignableToTypeOf(client.StepFinish{}), HaveField("Reason", "stop"), HaveField("IsContinued", false), usage),
		And(BeAssignableToTypeOf(client.Finish{}), HaveField("Reason", "stop"), usage),
	}
}

// nothing is what is found by who asks for nothing.
var nothing = BeNil()

// mayBeMissing are members without which an answer of a method is as good: what there is not yet of a part that has only begun.
var mayBeMissing = map[string][]string{"History": {"text", "args", "result"}}

// routes are all routes.
var routes = []driven{
	{"ListSessions", "GET /api/v1/agent-sessions/", func(b *back) asking {
		must(b.StartSession(b.ctx, "another agent"))
		must(b.StartSession(b.ctx, b.session.AgentUID))
		return func(c *client.Client) (any, error) {
			return c.ListSessions(b.ctx, client.ListOptions{
				UserUID: "me", AgentUID: b.session.AgentUID, Archived: new(bool), Search: "session", Ordering: "-started_at", Limit: 1, Offset: 1})
		}
	}, And(HaveField("Count", 2), HaveField("Next", BeNil()), HaveField("Previous", HaveValue(ContainSubstring("offset=0"))), HaveField("Results", ConsistOf(record("Session 1"))))},

	{"GetSession", "GET /api/v1/agent-sessions/{session}/", func(b *back) asking {
		return func(c *client.Client) (any, error) { return c.GetSession(b.ctx, b.session.UID) }
	}, record("Session 1")},

	{"SetModel", "PATCH /api/v1/agent-sessions/{session}/", func(b *back) asking {
		return func(c *client.Client) (any, error) {
			return c.SetModel(b.ctx, b.session.UID, client.Selection{Provider: "stand-in-cloud", Model: "deep-1", Thinking: "high"})
		}
	}, And(HaveField("Model", "deep-1"), HaveField("Thinking", "high"))},

	{"DeleteSession", "DELETE /api/v1/agent-sessions/{session}/", func(b *back) asking {
		return func(c *client.Client) (any, error) { return nil, c.DeleteSession(b.ctx, b.session.UID) }
	}, nothing},

	{"Archive", "POST /api/v1/agent-sessions/{session}/archive/", func(b *back) asking {
		return func(c *client.Client) (any, error) { return c.Archive(b.ctx, b.session.UID) }
	}, And(HaveField("Archived", true), HaveField("ArchivedAt", Not(BeNil())))},

	{"Unarchive", "POST /api/v1/agent-sessions/{session}/unarchive/", func(b *back) asking {
		must(b.Archive(b.ctx, b.session.UID))
		return func(c *client.Client) (any, error) { return c.Unarchive(b.ctx, b.session.UID) }
	}, And(HaveField("Archived", false), HaveField("ArchivedAt", BeNil()))},

	{"RuntimeAccess", "POST /api/v1/agent-sessions/{session}/resolve-runtime-access/", func(b *back) asking {
		Expect(b.server.SetPresence(standin.Presence{Phase: "starting", Desired: 2, Actual: 1, Detail: "soon", Wake: &standin.Wake{State: "requested", Deadline: time.Now()}})).To(Succeed())
		Expect(b.server.SetInteraction(standin.Interaction{State: "waking", Notice: map[string]any{"text": "It wakes."}, RetryAfter: time.Second})).To(Succeed())
		return func(c *client.Client) (any, error) { return c.RuntimeAccess(b.ctx, b.session.UID) }
	}, And(HaveField("RPCURL", "https://agent-runtime.stand-in.test"), HaveField("Token", "stand-in-runtime-token"), HaveField("IsReady", false),
		HaveField("Interaction", And(HaveField("State", "waking"), HaveField("RetryAfterMS", HaveValue(BeEquivalentTo(1000))))),
		HaveField("Presence", And(HaveField("Replicas", client.Replicas{Desired: 2, Actual: 1}), HaveField("Wake.State", "requested"))))},

	{"History", "GET /api/v1/agent-sessions/{session}/history/", func(b *back) asking {
		b.chat("hello")
		return func(c *client.Client) (any, error) { return c.History(b.ctx, b.session.UID) }
	}, And(HaveField("Session.AgentName", "Stand-in Agent"), HaveField("InProgress", BeNil()), HaveField("Messages", HaveExactElements(
		And(HaveField("ID", "message-1"), HaveField("Role", "user"), HaveField("Content", HaveExactElements(HaveField("Text", "hello")))),
		And(HaveField("ID", "message-2"), HaveField("Role", "assistant"), HaveField("Content", HaveExactElements(HaveField("Type", "reasoning"),
			And(HaveField("ToolName", "stand_in_search"), HaveField("Result.Content", HaveLen(1))), HaveField("Text", ContainSubstring("hello"))))))))},

	{"Insights", "GET /api/v1/agent-sessions/{session}/insights/", func(b *back) asking {
		b.chat("hello")
		return func(c *client.Client) (any, error) { return c.Insights(b.ctx, b.session.UID) }
	}, And(HaveField("Model.Model", "swift-1"), HaveField("Session", HaveValue(Equal(client.InsightsSession{Messages: 2, ToolCalls: 1, Turns: 1}))),
		HaveField("Usage.InputTokens", 2), HaveField("Context.PercentOfContextWindow", BeNumerically("<", 1)))},

	{"StartSession", "POST /api/v1/agents/{agent}/start-new-session/", func(b *back) asking {
		return func(c *client.Client) (any, error) { return c.StartSession(b.ctx, "another agent") }
	}, And(HaveField("AgentUID", "another agent"), HaveField("Handle", Not(BeNil())))},

	{"GetOrCreateSession", "POST /api/v1/agents/{agent}/sessions/get-or-create-session/", func(b *back) asking {
		by := client.SessionChoice{Handle: "mine", Provider: "stand-in-cloud", Model: "deep-1"}
		return func(c *client.Client) (any, error) {
			one, created, err := c.GetOrCreateSession(b.ctx, b.session.AgentUID, by)
			if err != nil {
				return nil, err
			}
			Expect(created).To(BeTrue())
			same, created, err := c.GetOrCreateSession(b.ctx, b.session.AgentUID, client.SessionChoice{SessionUID: one.UID})
			Expect(created).To(BeFalse())
			Expect(same.UID).To(Equal(one.UID))
			return one, err
		}
	}, And(HaveField("Handle", HaveValue(Equal("mine"))), HaveField("Model", "deep-1"))},

	{"Agents", "GET /api/v1/command-center/agents/", func(b *back) asking {
		return func(c *client.Client) (any, error) { return c.Agents(b.ctx) }
	}, ConsistOf(And(HaveField("UID", standin.DefaultIdentity().AgentUID), HaveField("Icon.URL", HaveSuffix("/icon/"))))},

	{"AgentIcon", "GET /api/v1/command-center/agents/{agent}/icon/", func(b *back) asking {
		return func(c *client.Client) (any, error) {
			icon, err := c.AgentIcon(b.ctx, b.session.AgentUID, "")
			if err == nil {
				Expect(must(c.AgentIcon(b.ctx, b.session.AgentUID, icon.ETag))).To(Equal(client.Icon{ETag: icon.ETag}))
			}
			return string(icon.SVG), err
		}
	}, HavePrefix("<svg ")},

	{"ModelProviders", "GET /api/v1/model-providers/", func(b *back) asking {
		return func(c *client.Client) (any, error) { return c.ModelProviders(b.ctx) }
	}, And(HaveField("Digest", MatchRegexp("^sha256:[0-9a-f]{64}$")), HaveField("Providers", HaveExactElements(
		And(HaveField("Name", "stand-in-cloud"), HaveField("Credential", "active"), HaveField("Models", HaveLen(2))),
		And(HaveField("Name", "stand-in-labs"), HaveField("Credential", "missing")),
		And(HaveField("Name", "stand-in-models"), HaveField("Known", false)))))},

	{"SignIn", "POST /api/v1/model-provider-sign-in-attempts/", func(b *back) asking {
		return func(c *client.Client) (any, error) { return c.SignIn(b.ctx, "stand-in-labs") }
	}, And(HaveField("Provider", "stand-in-labs"), HaveField("Status", "pending"))},

	{"SignInAttempt", "GET /api/v1/model-provider-sign-in-attempts/{attempt}/", func(b *back) asking {
		a := must(b.SignIn(b.ctx, "stand-in-labs"))
		Expect(must(b.SignInAttempt(b.ctx, a.UID)).Status).To(Equal("pending"))
		return func(c *client.Client) (any, error) { return c.SignInAttempt(b.ctx, a.UID) }
	}, And(HaveField("Status", "completed"), HaveField("CompletedAt", Not(BeNil())))},

	{"CancelSignIn", "POST /api/v1/model-provider-sign-in-attempts/{attempt}/cancel/", func(b *back) asking {
		a := must(b.SignIn(b.ctx, "stand-in-labs"))
		return func(c *client.Client) (any, error) { return c.CancelSignIn(b.ctx, a.UID) }
	}, HaveField("Status", "cancelled")},

	{"RevokeCredentials", "POST /api/v1/model-provider-credentials/revoke/", func(b *back) asking {
		return func(c *client.Client) (any, error) { return c.RevokeCredentials(b.ctx, "stand-in-cloud") }
	}, Equal(client.Credential{Provider: "stand-in-cloud", Status: "revoked"})},

	{"CustomProviders", "GET /api/v1/custom-model-providers/", func(b *back) asking {
		return func(c *client.Client) (any, error) { return c.CustomProviders(b.ctx) }
	}, ConsistOf(And(HaveField("Identifier", "stand-in-models"), HaveField("Auth.HasAPIKey", true), HaveField("Models", ConsistOf(HaveField("Name", "alpha")))))},

	{"AddCustomProvider", "POST /api/v1/custom-model-providers/", func(b *back) asking {
		model := newModel
		model.IsDefault = true
		p := client.NewCustomProvider{Identifier: "mine", DisplayName: "Mine", BaseURL: "https://mine.test", APIKey: "k",
			Headers: []client.Header{{Name: "X-A", Value: "b"}}, Models: []client.NewCustomModel{model}}
		return func(c *client.Client) (any, error) { return c.AddCustomProvider(b.ctx, p) }
	}, And(HaveField("Auth", client.CustomAuth{HasAPIKey: true, HeaderNames: []string{"X-A"}}), HaveField("DefaultModel", "beta"),
		HaveField("Models", ConsistOf(And(HaveField("ContextWindow", BeNil()), HaveField("IsDefault", true)))))},

	{"ChangeCustomProvider", "PATCH /api/v1/custom-model-providers/{provider}/", func(b *back) asking {
		p := b.custom()
		to := client.CustomProviderChanges{DisplayName: client.To("Another name"), APIKey: client.ToNull[string](), Headers: client.To([]client.Header{{Name: "X-A", Value: "b"}})}
		return func(c *client.Client) (any, error) { return c.ChangeCustomProvider(b.ctx, p.UID, to) }
	}, And(HaveField("Identifier", "stand-in-models"), HaveField("DisplayName", "Another name"), HaveField("Auth", client.CustomAuth{HeaderNames: []string{"X-A"}}))},

	{"DeleteCustomProvider", "DELETE /api/v1/custom-model-providers/{provider}/", func(b *back) asking {
		p := b.custom()
		return func(c *client.Client) (any, error) { return nil, c.DeleteCustomProvider(b.ctx, p.UID) }
	}, nothing},

	{"AddCustomModel", "POST /api/v1/custom-model-providers/{provider}/models/", func(b *back) asking {
		p := b.custom()
		return func(c *client.Client) (any, error) { return c.AddCustomModel(b.ctx, p.UID, newModel) }
	}, And(HaveField("Name", "beta"), HaveField("IsDefault", false), HaveField("Position", BeEquivalentTo(1)))},

	{"ChangeCustomModel", "PATCH /api/v1/custom-model-providers/{provider}/models/{model}/", func(b *back) asking {
		p := b.custom()
		to := client.CustomModelChanges{MaxTokens: client.ToNull[int64](), Metadata: client.To(map[string]any{"a": map[string]any{"b": 1}})}
		return func(c *client.Client) (any, error) { return c.ChangeCustomModel(b.ctx, p.UID, p.Models[0].UID, to) }
	}, And(HaveField("Name", "alpha"), HaveField("MaxTokens", BeNil()), HaveField("ContextWindow", Not(BeNil())), HaveField("Metadata", HaveKey("a")))},

	{"DeleteCustomModel", "DELETE /api/v1/custom-model-providers/{provider}/models/{model}/", func(b *back) asking {
		p := b.custom()
		m := must(b.AddCustomModel(b.ctx, p.UID, newModel))
		return func(c *client.Client) (any, error) { return nil, c.DeleteCustomModel(b.ctx, p.UID, m.UID) }
	}, nothing},

	{"Ready", "GET /api/chat", func(b *back) asking {
		at := b.access()
		return func(c *client.Client) (any, error) { return c.Ready(b.ctx, at) }
	}, Equal(client.Readiness{Status: "ready", Protocol: "ui-message-stream"})},

	{"Chat", "POST /api/chat", func(b *back) asking {
		at := b.access()
		return func(c *client.Client) (any, error) {
			stream, err := c.Chat(b.ctx, at, b.session, "What is this?")
			if err != nil {
				return nil, err
			}
			return stream.ReadAll()
		}
	}, HaveExactElements(reply("What is this?")...)},

	{"Cancel", "POST /api/chat/session/cancel", func(b *back) asking {
		at := b.access()
		return func(c *client.Client) (any, error) {
			return c.Cancel(b.ctx, at, client.Cancellation{SessionUID: b.session.UID, ThreadID: b.session.UID, Reason: "user"})
		}
	}, HaveField("Status", "idle")},
}

// routesOf are the routes of the requests that came to a server.
func routesOf(s *standin.Server) (all []string) {
	for _, r := range s.Requests() {
		for _, route := range s.Routes() {
			path := regexp.MustCompile("{[a-z]+}").ReplaceAllString(route.Path, "[^/]+")
			if route.Method == r.Method && route.Target == r.Target && regexp.MustCompile("^"+path+"$").MatchString(r.Path) {
				all = append(all, route.Method+" "+route.Path)
			}
		}
	}
	return all
}

// altering alters the bodies of answers.
type altering struct {
	http.RoundTripper
	alter func(body string) string
}

func (a altering) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := a.RoundTripper.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(res.Body)
	_ = res.Body.Close()
	res.Body = io.NopCloser(strings.NewReader(a.alter(string(body))))
	return res, err
}

// place is a member of an object in an answer, or one that is not there.
type place struct {
	object map[string]any
	name   string
}

const surplus = "surplus"

// free are members that may hold any JSON.
var free = []string{"args", "details", "metadata", "notice", "operation"}

// places are those of all objects in a value.
func places(v any) (all []place) {
	switch v := v.(type) {
	case map[string]any:
		all = append(all, place{v, surplus})
		for _, name := range slices.Sorted(maps.Keys(v)) {
			all = append(all, place{v, name})
			if !slices.Contains(free, name) {
				all = append(all, places(v[name])...)
			}
		}
	case []any:
		for _, one := range v {
			all = append(all, places(one)...)
		}
	}
	return all
}

// alterOne gives a surplus member to an object of a body, or takes a member away: the nth of all such alterations.
func alterOne(body string, n int) (altered, name string) {
	lines := strings.SplitAfter(body, "\n")
	for i, line := range lines {
		text, isFrame := strings.CutPrefix(line, "data: ")
		var v any
		if json.Unmarshal([]byte(text), &v) != nil {
			continue
		}
		all := places(v)
		if n >= len(all) {
			n -= len(all)
			continue
		}
		at := all[n]
		if at.name == surplus {
			at.object[surplus] = true
		} else {
			delete(at.object, at.name)
		}
		out, err := json.Marshal(v)
		Expect(err).NotTo(HaveOccurred())
		if lines[i] = string(out) + "\n"; isFrame {
			lines[i] = "data: " + lines[i]
		}
		return strings.Join(lines, ""), at.name
	}
	return body, ""
}

var _ = Describe("A client", bubble.InBubble, func() {
	for _, d := range routes {
		It(d.method+" asks "+d.route, func() {
			b := newBack()
			ask := d.ready(b)
			before := len(b.server.Requests())
			Expect(must(ask(b.Client))).To(d.finds)
			Expect(routesOf(b.server)[before:]).To(ContainElement(d.route))
		})

		It(d.method+" objects to each member that is too many in the answer, or missing", func() {
			altered := 0
			for name := "the first"; name != ""; altered++ {
				b := newBack(standin.WithoutChecks())
				ask := d.ready(b)
				_, err := ask(b.through(altering{b.server.RoundTripper(), func(body string) string {
					body, name = alterOne(body, altered)
					return body
				}}))
				if name == "" {
					Expect(err).NotTo(HaveOccurred())
				} else if !slices.Contains(mayBeMissing[d.method], name) {
					Expect(err).To(BeAssignableToTypeOf(&client.Mismatch{}), "member %d, %q", altered, name)
					Expect(err).To(HaveField("Route", d.route))
					Expect(err).To(MatchError(ContainSubstring(name)))
				}
			}
			if d.finds != nothing && d.method != "AgentIcon" {
				Expect(altered).To(BeNumerically(">", 2))
			}
		})
	}

	It("has a method for each route of the stand-in, and no other one", func() {
		var there, driven, methods []string
		for _, r := range newBack().server.Routes() {
			there = append(there, r.Method+" "+r.Path)
		}
		for _, d := range routes {
			driven = append(driven, d.route)
			methods = append(methods, d.method)
		}
		Expect(driven).To(ConsistOf(there))
		var has []string
		for i, t := 0, reflect.TypeFor[*client.Client](); i < t.NumMethod(); i++ {
			has = append(has, t.Method(i).Name)
		}
		Expect(methods).To(ConsistOf(has))
	})
})

// refused is an error of the server.
func refused(status int, more ...types.GomegaMatcher) types.GomegaMatcher {
	return And(append([]types.GomegaMatcher{BeAssignableToTypeOf(&client.Error{}), HaveField("Status", status), HaveField("Extra", BeNil())}, more...)...)
}

var _ = Describe("What a server refuses", bubble.InBubble, func() {
	It("is an error with the status and the detail", func() {
		b := newBack()
		_, err := b.GetSession(b.ctx, "nobody")
		Expect(err).To(refused(http.StatusNotFound, HaveField("Detail", "Not found."), HaveField("Route", "GET /api/v1/agent-sessions/{session}/"),
			HaveField("URL", "https://platform.stand-in.test/api/v1/agent-sessions/nobody/"), HaveField("Fields", BeNil())))
		Expect(err).To(MatchError("client: GET /api/v1/agent-sessions/{session}/: https://platform.stand-in.test/api/v1/agent-sessions/nobody/: 404: Not found."))
		_, err = b.History(b.ctx, b.session.UID)
		Expect(err).To(refused(http.StatusNotFound))
		at := b.access()
		at.Token = "another one"
		_, err = b.Ready(b.ctx, at)
		Expect(err).To(refused(http.StatusUnauthorized))
		_, err = b.AgentIcon(b.ctx, "nobody", "")
		Expect(err).To(refused(http.StatusNotFound))
		Expect(b.DeleteCustomModel(b.ctx, b.custom().UID, b.custom().Models[0].UID)).To(refused(http.StatusBadRequest, HaveField("Detail", Not(BeEmpty()))))
	})

	It("is an error with the fields that are wrong", func() {
		b := newBack()
		_, _, err := b.GetOrCreateSession(b.ctx, "an agent", client.SessionChoice{})
		Expect(err).To(refused(http.StatusBadRequest, HaveField("Detail", ""), HaveField("Fields", HaveKeyWithValue("non_field_errors", HaveLen(1)))))
		_, err = b.AddCustomProvider(b.ctx, client.NewCustomProvider{Identifier: "-", DisplayName: "A", BaseURL: "https://a.test"})
		Expect(err).To(refused(http.StatusBadRequest, HaveField("Fields", And(HaveLen(2), HaveKey("identifier"), HaveKey("models")))))
		Expect(err).To(MatchError(MatchRegexp("400: identifier: .*hyphen.* models: ")))
	})

	It("is an error with a code, and with the attempt to sign in that runs", func() {
		b := newBack()
		a := must(b.SignIn(b.ctx, "stand-in-labs"))
		_, err := b.SignIn(b.ctx, "stand-in-labs")
		Expect(err).To(refused(http.StatusConflict, HaveField("Code", "provider_signin_in_progress"), HaveField("Attempt", HaveValue(Equal(a)))))
		_, err = b.SignIn(b.ctx, "stand-in-models")
		Expect(err).To(refused(http.StatusBadRequest, HaveField("Code", "provider_signin_unavailable"), HaveField("Attempt", BeNil())))
		must(b.CancelSignIn(b.ctx, a.UID))
		_, err = b.CancelSignIn(b.ctx, a.UID)
		Expect(err).To(refused(http.StatusConflict, HaveField("Code", "signin_attempt_not_active")))
		_, err = b.SignInAttempt(b.ctx, "nobody")
		Expect(err).To(refused(http.StatusNotFound, HaveField("Code", "signin_attempt_not_found")))
	})

	It("can say when to ask again, and more, which a server is free to", func() {
		b := newBack()
		Expect(b.server.FailNextRequests(1, standin.Fault{Status: 429, RetryAfter: time.Minute, More: map[string]any{"error_code": "slow_down", "left": 0}})).To(Succeed())
		_, err := b.ModelProviders(b.ctx)
		Expect(err).To(And(HaveField("RetryAfter", time.Minute), HaveField("Code", "slow_down"), HaveField("Extra", HaveKeyWithValue("left", BeEquivalentTo("0")))))
	})

	DescribeTable("must be said as it is wont to be", func(body, want string) {
		b := newBack()
		_, err := b.through(altering{b.server.RoundTripper(), func(string) string { return body }}).GetSession(b.ctx, "nobody")
		Expect(err).To(BeAssignableToTypeOf(&client.Mismatch{}))
		Expect(err).To(MatchError(ContainSubstring(want)))
	},
		Entry("not JSON", "Not found", "not JSON"),
		Entry("a list", "[]", "is a list, and must be an object"),
		Entry("nothing", "{}", "the status is 404, and there is no detail"),
		Entry("a detail that is no text", `{"detail":1}`, "detail is a number"),
		Entry("a field without a list", `{"name":"wrong"}`, "name is a text, and must be a list"),
		Entry("an attempt with a surplus member", `{"detail":"a","attempt":{"surplus":1}}`, "attempt.surplus is not known"),
	)
})

var _ = Describe("An answer", bubble.InBubble, func() {
	DescribeTable("is held to what the client knows", func(old, new, want string) {
		b := newBack()
		_, err := b.through(altering{b.server.RoundTripper(), func(body string) string { return strings.Replace(body, old, new, 1) }}).GetSession(b.ctx, b.session.UID)
		if want == "" {
			Expect(err).NotTo(HaveOccurred())
			return
		}
		Expect(err).To(BeAssignableToTypeOf(&client.Mismatch{}))
		Expect(err).To(MatchError("client: the answer to GET /api/v1/agent-sessions/{session}/ is not as it should be: " + want))
	},
		Entry("as it is", `"uid"`, `"uid"`, ""),
		Entry("in capitals", `"name"`, `"Name"`, "name is missing; Name is not known"),
		Entry("null", `"Session 1"`, `null`, "name is null"),
		Entry("another kind", `"Session 1"`, `1`, "name is a number, and must be a text"),
		Entry("another kind", `false`, `{}`, "is_archived is an object, and must be true or false"),
		Entry("another word", `"idle"`, `"lazy"`, `status is "lazy", and must be one of idle, running`),
	)

	It("must have the status that it has, and be JSON where something is refused", func() {
		b := newBack()
		answered := func(status int, header http.Header, body string) error {
			_, err := b.through(tripper(func(r *http.Request) (*http.Response, error) {
				return &http.Response{StatusCode: status, Header: header, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
			})).AgentIcon(b.ctx, b.session.AgentUID, "")
			return err
		}
		tagged := http.Header{"Etag": {`"a"`}, "Cache-Control": {"private, no-cache"}, "Content-Type": {"image/svg+xml"}}
		Expect(answered(200, tagged, "<svg/>")).To(Succeed())
		for err, want := range map[error]string{
			answered(201, tagged, "<svg/>"):                        "the status is 201",
			answered(304, tagged, ""):                              "the status is 304",
			answered(200, http.Header{}, "<svg/>"):                 `the ETag is ""`,
			answered(502, http.Header{}, "<html>Bad Gateway</h1>"): "and the status is 502",
		} {
			var m *client.Mismatch
			Expect(errors.As(err, &m)).To(BeTrue())
			Expect(err).To(MatchError(ContainSubstring(want)))
		}
	})

	It("ends where its JSON ends", func() {
		b := newBack()
		_, err := b.through(altering{b.server.RoundTripper(), func(body string) string { return body + "{}" }}).GetSession(b.ctx, b.session.UID)
		Expect(err).To(MatchError(ContainSubstring("is not JSON: there is more behind it")))
	})

	It("must be of the type that it is, and not be there where there is none", func() {
		var b *back
		typed := func(r *http.Request) (*http.Response, error) {
			res, err := b.server.RoundTripper().RoundTrip(r)
			if err == nil {
				res.Header.Set("Content-Type", "text/html")
			}
			return res, err
		}
		for _, d := range routes {
			b = newBack(standin.WithoutChecks())
			_, err := d.ready(b)(b.through(tripper(typed)))
			if d.finds != nothing {
				Expect(err).To(MatchError(ContainSubstring(`the Content-Type is "text/html"`)), d.method)
			}
		}
		b = newBack()
		silent := b.through(altering{b.server.RoundTripper(), func(string) string { return "{}" }})
		Expect(silent.DeleteSession(b.ctx, b.session.UID)).To(MatchError(ContainSubstring("there must be no body")))
	})
})

// tripper is a function that is a round tripper.
type tripper func(*http.Request) (*http.Response, error)

func (f tripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

var _ = Describe("A stream", bubble.InBubble, func() {
	It("is read frame by frame, while it comes", func(ctx SpecContext) {
		b := newBack()
		b.server.HoldReplies()
		stream := must(b.Chat(ctx, b.access(), b.session, "hello"))
		for stream.Next() && stream.Frame().Type() != "reasoning-end" {
		}
		Expect(stream.Frame()).To(Equal(client.BlockEnd{Kind: "reasoning-end", ID: "reasoning-1"}))
		Expect(must(b.GetSession(ctx, b.session.UID)).Status).To(Equal("running"))
		Expect(must(b.History(ctx, b.session.UID)).InProgress).To(HaveValue(HaveField("Content", HaveLen(1))))
		_, err := b.Chat(ctx, b.access(), b.session, "again")
		Expect(err).To(refused(http.StatusConflict))
		_, err = b.SetModel(ctx, b.session.UID, client.Selection{Provider: "stand-in-cloud", Model: "deep-1"})
		Expect(err).To(refused(http.StatusConflict, HaveField("Code", "agent_session_selection_runtime_active")))
		b.server.ReleaseReplies()
		Expect(must(stream.ReadAll())).To(HaveLen(13))
		Expect(stream.Next()).To(BeFalse())
		Expect(stream.Frame()).To(BeNil())
	})

	It("ends without a finish, and well, where the turn is canceled", func(ctx SpecContext) {
		b := newBack()
		b.server.HoldReplies()
		at := b.access()
		stream := must(b.Chat(ctx, at, b.session, "hello"))
		Expect(b.server.AwaitHeld(ctx, b.session.UID)).To(Succeed())
		Expect(must(b.Cancel(ctx, at, client.Cancellation{SessionUID: b.session.UID})).Status).To(Equal("cancelled"))
		Expect(must(stream.ReadAll())).To(And(HaveLen(6), HaveEach(Not(BeAssignableToTypeOf(client.Finish{})))))
	})

	It("stops the turn where it is closed, or its context ends", func(ctx SpecContext) {
		b := newBack()
		b.server.HoldReplies()
		Expect(must(b.Chat(ctx, b.access(), b.session, "hello")).Close()).To(Succeed())
		Expect(must(b.server.AwaitTurn(ctx, 1, standin.Stopped)).Abort).To(HaveValue(HaveField("By", "socket")))
		short, cancel := context.WithCancel(ctx)
		stream := must(b.Chat(short, b.access(), b.session, "hello"))
		Expect(b.server.AwaitHeld(ctx, b.session.UID)).To(Succeed())
		cancel()
		_, err := stream.ReadAll()
		Expect(err).To(MatchError(context.Canceled))
		must(b.server.AwaitTurn(ctx, 2, standin.Stopped))
	})

	It("has a failure", func() {
		b := newBack()
		b.server.FailNextTurn("out of luck")
		Expect(b.chat("hello")).To(HaveExactElements(BeAssignableToTypeOf(client.Start{}), client.Failure{Kind: "error", Text: "out of luck"}))
		b.session.Model = "another one"
		Expect(b.chat("hello")).To(ContainElement(And(BeAssignableToTypeOf(client.Failure{}), HaveField("Text", ContainSubstring("another one")))))
	})

	It("has frames of data of any name", func() {
		b := newBack()
		b.server.Reply(must(script.Parse([]byte(`[{"event":{"type":"data-weather","payload":{"sun":true}}}]`))))
		Expect(b.chat("hello")).To(ContainElement(client.Data{Kind: "data-weather", JSON: []byte(`{"sun":true}`)}))
	})

	It("is known, and so is its history, whatever is played", func() {
		b := newBack()
		b.server.Reply(must(script.Parse([]byte(`[
			{"think":"hm"}, {"say":"first"}, {"think":"hm"},
			{"tool":{"name":"look","input":{"a":[1]},"error":"none"}},
			{"bash":{"command":"ls","output":"a","exitCode":1}},
			{"write":{"path":"a.txt","content":"a"}},
			{"usage":{"usedTokens":7,"inputTokens":3,"outputTokens":4}}, {"say":""}, {"say":"last"}
		]`))))
		frames := b.chat("hello")
		Expect(frames).To(ContainElements(And(BeAssignableToTypeOf(client.ToolResult{}), HaveField("IsError", true)), HaveField("Usage", client.Usage{InputTokens: 3, OutputTokens: 4})))
		Expect(must(b.History(b.ctx, b.session.UID)).Messages[1].Content).To(ContainElement(HaveField("IsError", true)))
	})

	DescribeTable("is read however it is written", func(wire standin.Wire) {
		b := newBack()
		b.server.Reply(script.New(script.Say("Grüße")), standin.Nth(1)).Wire(wire)
		frames := b.chat("hello")
		Expect(frames).To(And(ContainElement(HaveField("Delta", "Grüße")), HaveLen(7)))
	},
		Entry("in bytes", standin.Wire{ChunkBytes: 1}),
		Entry("with other ends of lines", standin.Wire{CRLF: true}),
		Entry("with comments", standin.Wire{Comments: true}),
		Entry("with names", standin.Wire{Event: true}),
		Entry("kept open", standin.Wire{KeepOpen: true}),
	)

	DescribeTable("is an error where it is cut", func(wire standin.Wire) {
		b := newBack()
		b.server.Reply(script.New(script.Say("hello"))).Wire(wire)
		_, err := must(b.Chat(b.ctx, b.access(), b.session, "hello")).ReadAll()
		Expect(err).To(MatchError(io.ErrUnexpectedEOF))
		_, err = b.server.AwaitTurn(b.ctx, 1, standin.Completed) // which goes on
		Expect(err).NotTo(HaveOccurred())
	},
		Entry("before a frame", standin.Wire{CutAtFrame: 3}),
		Entry("within one", standin.Wire{CutAtByte: 60}),
		Entry("with its connection", standin.Wire{CutAtFrame: 3, Reset: true}),
		Entry("before its end alone", standin.Wire{NoDone: true}),
	)

	DescribeTable("is held to the frames that the client knows", func(old, new, want string) {
		b := newBack()
		at := b.access()
		c := b.through(altering{b.server.RoundTripper(), func(body string) string { return strings.Replace(body, old, new, 1) }})
		_, err := must(c.Chat(b.ctx, at, b.session, "hello")).ReadAll()
		Expect(err).To(BeAssignableToTypeOf(&client.Mismatch{}))
		Expect(err).To(MatchError(ContainSubstring(want)))
	},
		Entry("another type", `"text-start"`, `"text-begin"`, `there is no frame of the type "text-begin"`),
		Entry("no JSON", `{"type":"text-start"`, `{"type":text`, "cannot be read"),
		Entry("a surplus member", `"start-step"`, `"start-step","surplus":1`, "start-step.surplus is not known"),
		Entry("a missing one", `"isContinued":false`, `"isError":false`, "finish-step.isContinued is missing; finish-step.isError is not known"),
		Entry("another line", "data: ", "dater: ", `a line of the stream is "dater: {`),
	)
})

var _ = Describe("A client", bubble.InBubble, func() {
	It("needs an address and a token", func() {
		_, err := client.New(client.Config{PlatformURL: "platform", Token: "t"})
		Expect(err).To(MatchError(ContainSubstring(`the PlatformURL is "platform"; it must be an address`)))
		_, err = client.New(client.Config{PlatformURL: "https://platform.test"})
		Expect(err).To(MatchError(ContainSubstring("the Token is empty")))
	})

	It("asks below a prefix, and gets icons below it, too", func() {
		b := newBack()
		id := b.server.Identity()
		c := must(client.New(client.Config{PlatformURL: id.PlatformURL + "/__platform__/", Token: "t", HTTP: b.server.Client()}))
		Expect(must(c.Agents(b.ctx))[0].Icon.URL).To(HavePrefix(id.PlatformURL + "/__platform__/api/v1/"))
	})

	It("does not ask for what has no id", func() {
		b := newBack()
		before := len(b.server.Requests())
		_, err := b.GetSession(b.ctx, "")
		Expect(err).To(MatchError("client: GET /api/v1/agent-sessions/{session}/: the session is empty"))
		Expect(b.server.Requests()).To(HaveLen(before))
	})

	It("waits for a cancellation for ten seconds, and no longer", func() {
		b := newBack(standin.WithLatency(time.Minute))
		at := b.access()
		began := time.Now()
		_, err := b.Cancel(b.ctx, at, client.Cancellation{SessionUID: b.session.UID})
		Expect(err).To(MatchError(context.DeadlineExceeded))
		Expect(time.Since(began)).To(Equal(10 * time.Second))
	})

	It("tells insights that are not there from such that are halved", func() {
		b := newBack()
		Expect(must(b.Insights(b.ctx, b.session.UID))).To(Equal(client.Insights{}))
		c := b.through(altering{b.server.RoundTripper(), func(string) string { return `{"has_insights":true}` }})
		_, err := c.Insights(b.ctx, b.session.UID)
		Expect(err).To(MatchError(ContainSubstring("has_insights is true, and that there is a model is false")))
	})

	It("keeps what is not changed, and tells a change to null from none", func() {
		text := func(v any) string { return string(must(json.Marshal(v))) }
		Expect(text(client.CustomProviderChanges{})).To(Equal("{}"))
		Expect(text(client.CustomProviderChanges{APIKey: client.ToNull[string](), DisplayName: client.To("")})).To(Equal(`{"display_name":"","api_key":null}`))
	})
})
