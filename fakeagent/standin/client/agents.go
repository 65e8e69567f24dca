package client

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
)

// Agent is an agent, with its icon.
type Agent struct {
	UID  string    `json:"agentUid"`
	Icon AgentLink `json:"commandCenterIcon"`
}

// AgentLink is where the icon of an agent is.
type AgentLink struct {
	Rendering string `json:"rendering" only:"image"`
	URL       string `json:"url"`
}

// Agents are the agents of the client's environment.
func (c *Client) Agents(ctx context.Context) (all []Agent, err error) {
	query := url.Values{"organization_environment_uid": {c.cfg.EnvironmentUID}}
	_, err = c.ask(ctx, request{route: "GET /api/v1/command-center/agents/", query: query}, &all)
	return all, err
}

// Icon is the icon of an agent.
type Icon struct {
	ETag string
	SVG  []byte // nil: it is the one that the client has
}

// AgentIcon is the icon of an agent, unless it has the tag of the one that the client has; "" is none.
func (c *Client) AgentIcon(ctx context.Context, agentUID, etag string) (Icon, error) {
	route := "GET /api/v1/command-center/agents/{agent}/icon/"
	ok := []int{http.StatusOK}
	if etag != "" {
		ok = append(ok, http.StatusNotModified)
	}
	res, err := c.send(ctx, request{route: route, vars: []string{agentUID}, etag: etag, ok: ok})
	if err != nil {
		return Icon{}, err
	}
	defer res.Body.Close()
	icon := Icon{ETag: res.Header.Get("ETag")}
	if control := res.Header.Get("Cache-Control"); icon.ETag == "" || control != "private, no-cache" {
		return Icon{}, &Mismatch{route, []string{fmt.Sprintf("the ETag is %q and the Cache-Control %q; there must be a tag, and private, no-cache", icon.ETag, control)}}
	}
	if res.StatusCode == http.StatusNotModified {
		return icon, nil
	}
	if err := mediaType(route, res, "image/svg+xml"); err != nil {
		return Icon{}, err
	}
	if icon.SVG, err = io.ReadAll(res.Body); err != nil {
		return Icon{}, fmt.Errorf("client: %s: %w", route, err)
	}
	return icon, nil
}
