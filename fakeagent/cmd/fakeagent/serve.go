package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/alecthomas/kong"

	"github.com/understudy-go/understudy/fakeagent/standin"
)

type serveCommand struct {
	Addr       loopback `placeholder:"HOST:PORT" default:"127.0.0.1:0" help:"Where it listens, for this machine alone; a free port of 127.0.0.1 by default."`
	Profile    backEnd  `placeholder:"NAME" default:"platform" help:"What it stands in for: platform, or local, a runtime on one's own machine."`
	Latency    pause    `placeholder:"D" default:"150ms" help:"How long each answer but a stream takes to begin; 150ms by default, 0 is none."`
	FrameDelay pause    `placeholder:"D" default:"40ms" help:"How long it waits before each frame of a stream; 40ms by default, 0 is none."`
	JSON       bool     `name:"json" help:"Print it as one JSON object."`
	Quiet      bool     `help:"Log no requests."`
}

func (*serveCommand) Help() string {
	return "It prints what a connect form wants: apiBaseUrl, agentUid, environmentUid and userUid, or the runtimeUrl of a local one. Any token will do. " +
		"It serves until it is interrupted, and then says which requests it had no route for."
}

// backEnd is what there is to serve.
type backEnd standin.Profile

func (b *backEnd) Decode(ctx *kong.DecodeContext) error {
	value, err := valueOf(ctx)
	if err != nil {
		return err
	}
	if *b = backEnd(value); *b != backEnd(standin.ProfilePlatform) && *b != backEnd(standin.ProfileLocal) {
		return fmt.Errorf("there is no profile %q; use %s or %s", value, standin.ProfilePlatform, standin.ProfileLocal)
	}
	return nil
}

// loopback is an address that no other machine can reach.
type loopback string

func (l *loopback) Decode(ctx *kong.DecodeContext) error {
	value, err := valueOf(ctx)
	if err != nil {
		return err
	}
	host, port, err := net.SplitHostPort(value)
	if _, wrong := strconv.ParseUint(port, 10, 16); err != nil || wrong != nil {
		return fmt.Errorf("%q is no address; use HOST:PORT, such as 127.0.0.1:8080", value)
	}
	if strings.EqualFold(host, "localhost") {
		host = "127.0.0.1" // whatever the name is taken for here
	}
	if ip, err := netip.ParseAddr(host); err != nil || !ip.IsLoopback() {
		return fmt.Errorf("%q is not a loopback address, and it serves this machine alone; use 127.0.0.1:%s, [::1]:%[2]s or localhost:%[2]s", value, port)
	}
	*l = loopback(net.JoinHostPort(host, port))
	return nil
}

// pause is how long something waits.
type pause time.Duration

func (p *pause) Decode(ctx *kong.DecodeContext) error {
	value, err := valueOf(ctx)
	if err != nil {
		return err
	}
	d, err := time.ParseDuration(value)
	if err != nil || d < 0 {
		return fmt.Errorf("%q is no time to wait; use one such as 150ms, or 0 for none", value)
	}
	*p = pause(d)
	return nil
}

// connection is what a connect form wants, by the names of its settings.
type connection struct {
	RuntimeURL     string `json:"runtimeUrl,omitempty"` // of a local one, which wants nothing else
	APIBaseURL     string `json:"apiBaseUrl,omitempty"`
	AgentUID       string `json:"agentUid,omitempty"`
	EnvironmentUID string `json:"environmentUid,omitempty"`
	UserUID        string `json:"userUid,omitempty"`
}

// connectionTo is for a server at an address.
func connectionTo(url string, profile standin.Profile, id standin.Identity) connection {
	if profile == standin.ProfileLocal {
		return connection{RuntimeURL: url + standin.DefaultLocalPath}
	}
	return connection{APIBaseURL: url, AgentUID: id.AgentUID, EnvironmentUID: id.EnvironmentUID, UserUID: id.UserUID}
}

func (v connection) print(to io.Writer, asJSON bool) (err error) {
	switch {
	case asJSON:
		return json.NewEncoder(to).Encode(v)
	case v.RuntimeURL != "":
		_, err = fmt.Fprintf(to, "runtimeUrl: %s\n", v.RuntimeURL)
	default:
		_, err = fmt.Fprintf(to, "apiBaseUrl: %s\nagentUid: %s\nenvironmentUid: %s\nuserUid: %s\n", v.APIBaseURL, v.AgentUID, v.EnvironmentUID, v.UserUID)
	}
	return err
}

// stopPatience is how long a client may take to read or to send the rest, when the command stops.
const stopPatience = 5 * time.Second

func (s *serveCommand) run(ctx context.Context, c console) int {
	ctx, stop := untilInterrupted(ctx) // before anybody can know that it serves
	defer stop()
	back, err := standin.NewUnstarted(standin.WithProfile(standin.Profile(s.Profile)), standin.WithLatency(time.Duration(s.Latency)), standin.WithFrameDelay(time.Duration(s.FrameDelay)))
	if err != nil {
		c.complain("fakeagent: serve: %v", err)
		return exitUsage
	}
	l, err := net.Listen("tcp", string(s.Addr))
	if err != nil {
		c.complain("fakeagent: serve: %v; give another --addr, or port 0 for a free one", err)
		return exitUsage
	}
	lines := log.New(c.err, "", 0) // a request's line is written whole
	requests, abandon := context.WithCancel(context.Background())
	defer abandon()
	handler := &requestLog{Handler: back.Handler(), lines: lines, quiet: s.Quiet}
	server := &http.Server{Handler: handler, ErrorLog: lines, BaseContext: func(net.Listener) context.Context { return requests }}
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()

	code := exitOK
	if err := connectionTo("http://"+l.Addr().String(), standin.Profile(s.Profile), back.Identity()).print(c.out, s.JSON); err != nil {
		c.complain("fakeagent: the output could not be written: %v", err)
		stop()
		code = exitFailed
	}
	select {
	case <-ctx.Done():
	case err := <-served:
		c.complain("fakeagent: serve: %v", err)
		code = exitFailed
	}
	left := back.Left() // before its turns are ended, which it tells of

	patience, enough := context.WithTimeout(context.Background(), stopPatience)
	defer enough()
	shut := make(chan error, 1)
	go func() { shut <- server.Shutdown(patience) }() // nobody connects any more while turns end
	if err := back.Close(); err != nil {
		c.complain("fakeagent: serve: %v", err)
		code = exitFailed
	}
	abandon() // turns are over, so this is for those who wait for the latency
	if <-shut != nil {
		c.complain("fakeagent: serve: what was still open after %s was cut off", stopPatience)
		_ = server.Close()
		handler.open.Wait() // for their lines
	}
	if left != "" {
		c.explain("fakeagent: serve: at the end:\n%s", left)
	}
	return code
}

// requestLog is a handler that tells of each request, when it is over.
type requestLog struct {
	http.Handler
	lines *log.Logger
	quiet bool
	open  sync.WaitGroup
}

func (h *requestLog) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.open.Add(1)
	defer h.open.Done()
	began, out := time.Now(), &answered{ResponseWriter: w, status: "-"}
	defer func() { // also of one whose connection is broken by a panic
		if !h.quiet {
			h.lines.Printf("%s %s %s %s", r.Method, r.URL.EscapedPath(), out.status, time.Since(began).Round(time.Microsecond))
		}
	}()
	h.Handler.ServeHTTP(out, r)
	if out.status == "-" {
		panic(http.ErrAbortHandler) // else a client that still waits would take it for an empty answer
	}
}

// answered keeps the status of an answer, which the stand-in always sets.
type answered struct {
	http.ResponseWriter
	status string
}

func (a *answered) WriteHeader(status int) {
	a.status = strconv.Itoa(status)
	a.ResponseWriter.WriteHeader(status)
}

func (a *answered) Unwrap() http.ResponseWriter { return a.ResponseWriter }
