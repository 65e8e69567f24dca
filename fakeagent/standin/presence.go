package standin

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Presence is what the platform observes of a runtime.
type Presence struct {
	Phase   string // such as serving
	Desired int    // how many replicas there are to be
	Actual  int    // and are
	Detail  string // "" is null
	Wake    *Wake  // nil: nobody wakes it
}

// Wake is a runtime that is woken.
type Wake struct {
	State    string    // such as requested
	Deadline time.Time // until when it is to serve; zero is null
}

// Interaction is what a client may do with a runtime.
type Interaction struct {
	State      string        // such as ready
	CanSubmit  *bool         // nil: yes, if the state is ready or warning
	Notice     any           // as JSON
	Operation  any           // as JSON
	RetryAfter time.Duration // when to ask again; 0 is null
}

// The states that there are, in the order in which a runtime may have them.
var (
	phases       = []string{"not_deployed", "observing", "idle", "provisioning", "pulling_image", "starting", "serving", "redeploying", "failed"}
	interactions = []string{"ready", "warning", "checking", "starting", "waking", "update_required", "updating", "update_failed", "unavailable"}
	wakes        = []string{"requested", "in_progress", "serving", "failed", "expired", "superseded"}
)

// readiness is how far the runtimes are.
type readiness struct {
	all      runtimeState
	sessions map[string]*runtimeState
}

type runtimeState struct {
	presence    Presence
	interaction Interaction
}

func ready() readiness {
	return readiness{runtimeState{Presence{Phase: "serving", Desired: 1, Actual: 1}, Interaction{State: "ready"}}, map[string]*runtimeState{}}
}

// SetPresence is what is observed of the runtimes of some sessions from now on, or of all if none is named. It is an error if there is no such
// state: the phase is not_deployed, observing, idle, provisioning, pulling_image, starting, serving, redeploying or failed, and the state of a wake
// requested, in_progress, serving, failed, expired or superseded.
func (s *Server) SetPresence(p Presence, sessionUIDs ...string) error {
	if err := known("a phase", p.Phase, phases); err != nil {
		return err
	}
	if p.Desired < 0 || p.Actual < 0 {
		return fmt.Errorf("standin: %d replicas of %d; there must be 0 or more", p.Actual, p.Desired)
	}
	if p.Wake != nil {
		if err := known("the state of a wake", p.Wake.State, wakes); err != nil {
			return err
		}
		wake := *p.Wake
		p.Wake = &wake
	}
	return s.setReadiness(sessionUIDs, func(r *runtimeState) { r.presence = p })
}

// SetInteraction is what may be done with the runtimes of some sessions from now on, or of all if none is named. It is an error if there is no such
// state: it is ready, warning, checking, starting, waking, update_required, updating, update_failed or unavailable.
func (s *Server) SetInteraction(i Interaction, sessionUIDs ...string) error {
	if err := known("the state of an interaction", i.State, interactions); err != nil {
		return err
	}
	if i.RetryAfter < 0 {
		return fmt.Errorf("standin: an interaction to be asked for again after %s; it must be 0 or more", i.RetryAfter)
	}
	for _, v := range []*any{&i.Notice, &i.Operation} {
		text, err := json.Marshal(*v)
		if err != nil {
			return fmt.Errorf("standin: a notice or an operation must be JSON: %w", err)
		}
		*v = json.RawMessage(text)
	}
	if i.CanSubmit != nil {
		can := *i.CanSubmit
		i.CanSubmit = &can
	}
	return s.setReadiness(sessionUIDs, func(r *runtimeState) { r.interaction = i })
}

func known(what, state string, states []string) error {
	if slices.Contains(states, state) {
		return nil
	}
	return fmt.Errorf("standin: %q is not %s; it must be one of %s", state, what, strings.Join(states, ", "))
}

func (s *Server) setReadiness(uids []string, set func(*runtimeState)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, uid := range uids {
		if s.session(uid) == nil {
			return fmt.Errorf("standin: there is no session %q", uid)
		}
	}
	for _, uid := range uids {
		set(s.readiness.of(uid))
	}
	if len(uids) == 0 {
		set(&s.readiness.all)
		for _, one := range s.readiness.sessions {
			set(one)
		}
	}
	return nil
}

// of is the state of a session's own, which begins as that of all.
func (r *readiness) of(uid string) *runtimeState {
	if r.sessions[uid] == nil {
		own := r.all
		r.sessions[uid] = &own
	}
	return r.sessions[uid]
}

// runtimeAccess says where a session's runtime is, and how far.
func (c *call) runtimeAccess(one *session) error {
	at := c.readiness.all
	if own := c.readiness.sessions[one.UID]; own != nil {
		at = *own
	}
	can := at.interaction.State == "ready" || at.interaction.State == "warning"
	if at.interaction.CanSubmit != nil {
		can = *at.interaction.CanSubmit
	}
	var wake, retry any
	if w := at.presence.Wake; w != nil {
		var deadline any
		if !w.Deadline.IsZero() {
			deadline = timeText(w.Deadline)
		}
		wake = map[string]any{"state": w.State, "deadline": deadline}
	}
	if at.interaction.RetryAfter > 0 {
		retry = at.interaction.RetryAfter.Milliseconds()
	}
	c.json(http.StatusOK, map[string]any{
		"session_uid": one.UID, "mode": "token", "rpc_url": c.runtimeURL(c.r), "token": c.identity.RuntimeToken, "is_ready": can,
		"runtime_interaction": map[string]any{"state": at.interaction.State, "can_submit": can, "notice": at.interaction.Notice,
			"operation": at.interaction.Operation, "retry_after_ms": retry},
		"runtime_presence": map[string]any{"phase": at.presence.Phase, "replicas": map[string]int{"desired": at.presence.Desired, "actual": at.presence.Actual},
			"detail": orNull(at.presence.Detail), "observed_at": timeText(time.Now()), "wake": wake},
	})
	return nil
}
