package standin

import (
	"net/http"
	"slices"
	"time"
)

const attemptPath = "/api/v1/model-provider-sign-in-attempts/"

// providerRoutes are the platform's for the catalog, and for signing in to its providers.
func providerRoutes() []route {
	on := Platform.on
	return []route{
		on("GET", "/api/v1/model-providers/", (*call).listProviders),
		on("POST", attemptPath, ofProvider((*call).startSignIn)),
		on("GET", attemptPath+"{attempt}/", ofAttempt((*call).readSignIn)),
		on("POST", attemptPath+"{attempt}/cancel/", ofAttempt((*call).cancelSignIn)),
		on("POST", "/api/v1/model-provider-credentials/revoke/", ofProvider((*call).revoke)),
	}
}

func (c *call) listProviders() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.json(http.StatusOK, struct {
		Version   int         `json:"schema_version"`
		Digest    string      `json:"catalog_digest"`
		Providers []*provider `json:"providers"`
	}{1, c.catalog.digest(), c.catalog.providers()})
	return nil
}

// signInAttempt is somebody who signs in to a provider.
type signInAttempt struct {
	UID        string     `json:"uid"`
	Provider   string     `json:"provider"`
	Status     string     `json:"status"` // pending, completed or cancelled
	NextAction nextAction `json:"next_action"`
	CreatedAt  string     `json:"created_at"`
	UpdatedAt  string     `json:"updated_at"`
	DoneAt     *string    `json:"completed_at"`
	ErrorCode  *string    `json:"error_code"`

	reads int
}

// nextAction is what the user has to do. Here that is nothing: there is no page to open.
type nextAction struct {
	Type string `json:"type"`
}

const (
	attemptPending   = "pending"
	attemptCompleted = "completed"
	attemptCancelled = "cancelled"
)

// readsOfSignIn is how often an attempt is read until it is completed. It is pending for one read, so that a client shows that it waits.
const readsOfSignIn = 2

// ofProvider serves a request that names a provider, with the server locked; nil: nobody can sign in to that.
func ofProvider(serve func(*call, *provider) error) func(*call) error {
	return func(c *call) error {
		in, err := c.fields()
		if err != nil {
			return err
		}
		var name string
		in.require("provider")
		in.text("provider", &name)
		if err := in.problem(); err != nil {
			return err
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		return serve(c, c.catalog.known(name))
	}
}

func (c *call) startSignIn(p *provider) error {
	if p == nil {
		return refuse(http.StatusBadRequest, "One cannot sign in to this provider.", "code", "provider_signin_unavailable")
	}
	if i := slices.IndexFunc(c.catalog.attempts, func(a *signInAttempt) bool { return a.Provider == p.Name && a.Status == attemptPending }); i >= 0 {
		return refuse(http.StatusConflict, "Somebody is signing in to this provider already.", "code", "provider_signin_in_progress", "attempt", *c.catalog.attempts[i])
	}
	now := timeText(time.Now())
	a := &signInAttempt{UID: c.nextID(signInID), Provider: p.Name, Status: attemptPending, NextAction: nextAction{"none"}, CreatedAt: now, UpdatedAt: now}
	c.catalog.attempts = append(c.catalog.attempts, a)
	c.json(http.StatusCreated, a)
	return nil
}

// ofAttempt serves a request about an attempt that there is, with the server locked.
func ofAttempt(serve func(*call, *signInAttempt) error) func(*call) error {
	return func(c *call) error {
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, a := range c.catalog.attempts {
			if a.UID == c.vars["attempt"] {
				return serve(c, a)
			}
		}
		return refuse(http.StatusNotFound, "There is no such attempt to sign in.", "code", "signin_attempt_not_found")
	}
}

func (c *call) readSignIn(a *signInAttempt) error {
	if a.reads++; a.Status == attemptPending && a.reads >= readsOfSignIn {
		c.catalog.sign(c.catalog.known(a.Provider), active)
		now := timeText(time.Now())
		a.Status, a.UpdatedAt, a.DoneAt = attemptCompleted, now, &now
	}
	c.json(http.StatusOK, a)
	return nil
}

func (c *call) cancelSignIn(a *signInAttempt) error {
	if a.Status != attemptPending {
		return refuse(http.StatusConflict, "This attempt to sign in is over.", "code", "signin_attempt_not_active")
	}
	a.Status, a.UpdatedAt = attemptCancelled, timeText(time.Now())
	c.json(http.StatusOK, a)
	return nil
}

func (c *call) revoke(p *provider) error {
	if p == nil {
		return refuse(http.StatusNotFound, "There is no credential for this provider.")
	}
	c.catalog.sign(p, revoked)
	c.json(http.StatusOK, struct {
		Provider   string     `json:"provider"`
		Credential credential `json:"credential_status"`
	}{p.Name, p.Credential})
	return nil
}
