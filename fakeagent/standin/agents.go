package standin

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

const agentsPath = "/api/v1/command-center/agents/"

// agentRoutes are the platform's for agents.
func agentRoutes() []route {
	return []route{
		Platform.on("GET", agentsPath, (*call).listAgents),
		Platform.on("GET", agentsPath+"{agent}/icon/", (*call).icon),
	}
}

// nameAgent remembers an agent that somebody has named. s.mu is locked.
func (s *Server) nameAgent(uid string) {
	if !slices.Contains(s.agents, uid) {
		s.agents = append(s.agents, uid)
	}
}

func (c *call) listAgents() error {
	type icon struct {
		Rendering string `json:"rendering"`
		URL       string `json:"url"`
	}
	type agent struct {
		UID  string `json:"agentUid"`
		Icon icon   `json:"commandCenterIcon"`
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	all := []agent{}
	for _, uid := range c.agents {
		all = append(all, agent{uid, icon{"image", c.request.Base + agentsPath + url.PathEscape(uid) + "/icon/"}})
	}
	c.json(http.StatusOK, all)
	return nil
}

// The icon has the colour of its agent in the place of <colour>.
//
//go:embed icon.svg
var iconText string

// icon is the icon of an agent, which has a colour of its own.
func (c *call) icon() error {
	uid := c.vars["agent"]
	c.mu.Lock()
	named := slices.Contains(c.agents, uid)
	c.mu.Unlock()
	if !named {
		return refuse(http.StatusNotFound, "Not found.")
	}
	sum := sha256.Sum256([]byte(uid))
	colour := hex.EncodeToString(sum[:3])
	tag := `"` + hex.EncodeToString(sum[:8]) + `"`
	h := c.w.Header()
	h.Set("ETag", tag)
	h.Set("Cache-Control", "private, no-cache")
	if fresh(c.r.Header.Values("If-None-Match"), tag) {
		c.w.WriteHeader(http.StatusNotModified)
		return nil
	}
	h.Set("Content-Type", "image/svg+xml")
	h.Set("X-Content-Type-Options", "nosniff")
	c.w.WriteHeader(http.StatusOK)
	_, _ = c.w.Write([]byte(strings.ReplaceAll(iconText, "<colour>", "#"+colour)))
	return nil
}

// fresh is whether a client that has something with these tags has this one.
func fresh(have []string, tag string) bool {
	for _, one := range strings.Split(strings.Join(have, ","), ",") {
		if one = strings.TrimSpace(one); one == "*" || strings.TrimPrefix(one, "W/") == tag {
			return true
		}
	}
	return false
}
