package acp

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/understudy-go/understudy/fakeagent"
)

// block is a piece of a prompt, a message, or a tool's output.
type block struct {
	Type     string  `json:"type"`
	Text     *string `json:"text,omitempty"`
	Data     *string `json:"data,omitempty"`
	MimeType string  `json:"mimeType,omitempty"`
	URI      string  `json:"uri,omitempty"`
	Name     string  `json:"name,omitempty"`
	Resource *struct {
		URI      string  `json:"uri"`
		MimeType string  `json:"mimeType,omitempty"`
		Text     *string `json:"text,omitempty"`
		Blob     *string `json:"blob,omitempty"`
	} `json:"resource,omitempty"`
}

// readPrompt divides a prompt into its text and what goes with it. Blocks of text are one text, as the client cut it.
func readPrompt(blocks []block) (text string, with []fakeagent.Attachment, err error) {
	var b strings.Builder
	for i, c := range blocks {
		wrong := func(what string) error { return fmt.Errorf("prompt[%d] (%s): %s", i, c.Type, what) }
		a := fakeagent.Attachment{Name: c.Name, MediaType: c.MimeType, URI: c.URI}
		data := c.Data
		switch c.Type {
		case "text":
			if c.Text == nil {
				return "", nil, wrong("text is missing")
			}
			b.WriteString(*c.Text)
			continue
		case "image", "audio":
			if data == nil || c.MimeType == "" {
				return "", nil, wrong("needs data and mimeType")
			}
		case "resource_link":
			if c.URI == "" || c.Name == "" {
				return "", nil, wrong("needs uri and name")
			}
		case "resource":
			r := c.Resource
			if r == nil || r.URI == "" || (r.Text == nil) == (r.Blob == nil) {
				return "", nil, wrong("needs a resource with uri, and text or blob")
			}
			a.URI, a.MediaType = r.URI, r.MimeType
			if data = r.Blob; r.Text != nil {
				a.Data = []byte(*r.Text)
			}
		default:
			return "", nil, fmt.Errorf("prompt[%d]: unknown type %q; use text, image, audio, resource_link or resource", i, c.Type)
		}
		if data != nil {
			if a.Data, err = base64.StdEncoding.DecodeString(*data); err != nil {
				return "", nil, wrong("is no base64: " + err.Error())
			}
		}
		with = append(with, a)
	}
	return b.String(), with, nil
}

// writePrompt is the other way round.
func writePrompt(in fakeagent.TurnInput) frame {
	f := frame(`[`)
	if in.Text != "" || len(in.Attachments) == 0 {
		f = f.raw(`{"type":"text","text":`).str(in.Text).raw(`}`)
	}
	for _, a := range in.Attachments {
		if len(f) > 1 {
			f = f.raw(`,`)
		}
		data := base64.StdEncoding.EncodeToString(a.Data)
		name := a.Name
		if name == "" {
			name = a.URI
		}
		kind, _, _ := strings.Cut(a.MediaType, "/")
		switch {
		case a.Data == nil:
			f = f.raw(`{"type":"resource_link","uri":`).str(a.URI).raw(`,"name":`).str(name).field("mimeType", a.MediaType).raw(`}`)
		case kind == "image" || kind == "audio":
			f = f.raw(`{"type":`).str(kind).raw(`,"data":`).str(data).raw(`,"mimeType":`).str(a.MediaType).raw(`}`)
		case kind == "text" || a.MediaType == "application/json":
			f = f.raw(`{"type":"resource","resource":{"uri":`).str(a.URI).raw(`,"text":`).str(string(a.Data)).field("mimeType", a.MediaType).raw(`}}`)
		default:
			f = f.raw(`{"type":"resource","resource":{"uri":`).str(a.URI).raw(`,"blob":`).str(data).field("mimeType", a.MediaType).raw(`}}`)
		}
	}
	return f.raw(`]`)
}

// says is the text of a block; what is none is named in brackets.
func (c block) says() string {
	switch {
	case c.Text != nil:
		return *c.Text
	case c.Type == "resource_link":
		return "[" + c.Name + "](" + c.URI + ")"
	case c.Resource != nil && c.Resource.Text != nil:
		return *c.Resource.Text
	}
	return strings.TrimSpace("["+c.Type+" "+c.MimeType) + "]"
}

// servers are the MCP servers of a session.
func readServers(list []json.RawMessage) (out []fakeagent.MCPServer, err error) {
	type pair struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	}
	pairs := func(list []pair) map[string]string {
		if len(list) == 0 {
			return nil
		}
		m := map[string]string{}
		for _, p := range list {
			m[p.Name] = p.Value
		}
		return m
	}
	for i, raw := range list {
		var s struct {
			Type    string   `json:"type"`
			Name    string   `json:"name"`
			Command string   `json:"command"`
			URL     string   `json:"url"`
			Args    []string `json:"args"`
			Env     []pair   `json:"env"`
			Headers []pair   `json:"headers"`
		}
		if err := json.Unmarshal(raw, &s); err != nil {
			return nil, fmt.Errorf("mcpServers[%d]: %s", i, plain(err))
		}
		m := fakeagent.MCPServer{Name: s.Name, Command: s.Command, Args: s.Args, Env: pairs(s.Env), URL: s.URL, SSE: s.Type == "sse", Headers: pairs(s.Headers)}
		switch {
		case s.Name == "":
			return nil, fmt.Errorf("mcpServers[%d]: name is missing", i)
		case s.Type == "" && s.Command == "":
			return nil, fmt.Errorf("mcpServers[%d] (%s): command is missing", i, s.Name)
		case s.Type == "http" || s.Type == "sse":
			if s.URL == "" {
				return nil, fmt.Errorf("mcpServers[%d] (%s): url is missing", i, s.Name)
			}
		case s.Type != "" && s.Type != "stdio":
			return nil, fmt.Errorf("mcpServers[%d] (%s): unknown type %q; use http, sse, or none for a command", i, s.Name, s.Type)
		}
		out = append(out, m)
	}
	return out, nil
}
