// Package client asks a chat back end: its platform for sessions and model providers, and the runtime of its agents for replies.
//
// It is strict, so that a test is told when an answer is not what it was: a member that it does not know, one that is missing, a null or a value where
// none may be is a [Mismatch], which names the member and the route. What the server refuses is an [Error].
//
// It has types of its own and knows nothing of the stand-in: a client that shares the types of its server agrees with it whatever it says.
package client

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// Config is whom a client asks, and as whom.
type Config struct {
	PlatformURL    string       // without /api/v1/, such as https://platform.stand-in.test
	Token          string       // what the platform takes
	EnvironmentUID string       // whose sessions and agents are listed
	HTTP           *http.Client // nil is [http.DefaultClient]
}

// Client asks a chat back end. All methods may be called from any goroutine.
type Client struct{ cfg Config }

// New is a client. It is an error if the platform has no address, or there is no token.
func New(cfg Config) (*Client, error) {
	if u, err := url.Parse(cfg.PlatformURL); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("client: the PlatformURL is %.80q; it must be an address such as %q", cfg.PlatformURL, "https://platform.stand-in.test")
	}
	if strings.TrimSpace(cfg.Token) == "" {
		return nil, fmt.Errorf("client: the Token is empty; the platform takes any other one")
	}
	if cfg.HTTP == nil {
		cfg.HTTP = http.DefaultClient
	}
	return &Client{cfg}, nil
}

// request is what is asked for.
type request struct {
	route string         // its method, and its path with {names} in the place of what varies
	vars  []string       // what stands in their places, in turn
	at    *RuntimeAccess // nil: the platform
	query url.Values
	etag  string
	body  any   // as JSON; nil: none
	ok    []int // the statuses that an answer may have; none: 200
}

// send asks. An answer with another status than those that it may have is an error.
func (c *Client) send(ctx context.Context, q request) (*http.Response, error) {
	method, path, _ := strings.Cut(q.route, " ")
	for _, v := range q.vars {
		before, rest, _ := strings.Cut(path, "{")
		name, after, _ := strings.Cut(rest, "}")
		if v == "" {
			return nil, fmt.Errorf("client: %s: the %s is empty", q.route, name)
		}
		path = before + url.PathEscape(v) + after
	}
	base, token := c.cfg.PlatformURL, c.cfg.Token
	if q.at != nil {
		base, token = q.at.RPCURL, q.at.Token
	}
	address := strings.TrimSuffix(base, "/") + path
	if len(q.query) > 0 {
		address += "?" + q.query.Encode()
	}
	var body io.Reader
	if q.body != nil {
		text, err := json.Marshal(q.body)
		if err != nil {
			return nil, fmt.Errorf("client: %s: %w", q.route, err)
		}
		body = bytes.NewReader(text)
	}
	r, err := http.NewRequestWithContext(ctx, method, address, body)
	if err != nil {
		return nil, fmt.Errorf("client: %s: %w", q.route, err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if q.etag != "" {
		r.Header.Set("If-None-Match", q.etag)
	}
	res, err := c.cfg.HTTP.Do(r)
	if err != nil {
		return nil, fmt.Errorf("client: %s: %w", q.route, err)
	}
	if q.ok == nil {
		q.ok = []int{http.StatusOK}
	}
	if !slices.Contains(q.ok, res.StatusCode) {
		defer res.Body.Close()
		return nil, refusal(q.route, res)
	}
	return res, nil
}

// ask asks for JSON. If there is nothing to read it into, the answer must have no body.
func (c *Client) ask(ctx context.Context, q request, into any) (status int, err error) {
	res, err := c.send(ctx, q)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	switch {
	case err != nil:
		return 0, fmt.Errorf("client: %s: %w", q.route, err)
	case into != nil:
		if err := mediaType(q.route, res, "application/json"); err != nil {
			return 0, err
		}
		return res.StatusCode, decode(q.route, "", text, into)
	case len(text) > 0:
		return 0, &Mismatch{q.route, []string{fmt.Sprintf("there must be no body, and it is %.80q", text)}}
	}
	return res.StatusCode, nil
}

// mediaType objects to an answer of another type.
func mediaType(route string, res *http.Response, want string) error {
	is := res.Header.Get("Content-Type")
	if got, _, err := mime.ParseMediaType(is); err != nil || got != want {
		return &Mismatch{route, []string{fmt.Sprintf("the Content-Type is %q, and must be %s", is, want)}}
	}
	return nil
}
