package mockproc_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/understudy-go/understudy/mockproc"
)

// This is code of a host, and knows nothing of tests: it supervises whatever its function spawn starts. Where it says mockproc.Process, a
// host would have an interface of its own with the same methods; where it says mockproc.IsProcessAlive, a function that it is given.

// supervisor keeps one agent: it starts a process when there is none, sends it prompts, and tries again when there were too many of them.
type supervisor struct {
	agentID   string
	cwd       string
	spawn     func() (mockproc.Process, error)
	backoff   []time.Duration // how long it waits after each attempt that met a rate limit; then it gives up
	random    func() float64  // from 0 to 1, for the jitter
	eofGrace  time.Duration   // how long an agent may take to exit when its stdin is closed,
	termGrace time.Duration   // and after SIGTERM
	pids      *pidFile        // may be nil

	onUpdate  func(agentUpdate)        // what the agent says that it does
	onBackoff func(wait time.Duration) // may be nil

	busy    atomic.Bool
	closing chan struct{} // closed by Shutdown

	mu      sync.Mutex
	running *agentProcess // the last one, which may have exited
}

var (
	errBusy     = errors.New("a prompt is running already")
	errShutdown = errors.New("the supervisor is shutting down")
)

const usualGrace = 2 * time.Second

// newSupervisor has the waits of a real one.
func newSupervisor(agentID, cwd string, spawn func() (mockproc.Process, error)) *supervisor {
	return &supervisor{
		agentID: agentID, cwd: cwd, spawn: spawn,
		backoff: []time.Duration{time.Minute, 2 * time.Minute, 5 * time.Minute}, random: rand.Float64,
		eofGrace: usualGrace, termGrace: usualGrace,
		onUpdate: func(agentUpdate) {}, closing: make(chan struct{}),
	}
}

// Prompt plays a turn, and returns why it stopped. Only one may run at a time.
func (s *supervisor) Prompt(ctx context.Context, text string) (stopReason string, err error) {
	if !s.busy.CompareAndSwap(false, true) {
		return "", errBusy
	}
	defer s.busy.Store(false)
	for try := 0; ; try++ {
		stopReason, err = s.attempt(ctx, text)
		if err == nil || !isRateLimit(err) || try == len(s.backoff) {
			return stopReason, err
		}
		if err := s.pause(ctx, s.backoff[try]); err != nil {
			return "", err
		}
		s.retire() // the process may have exited by now, or be about to: a prompt that it gets would never be answered
	}
}

func (s *supervisor) attempt(ctx context.Context, text string) (string, error) {
	a, err := s.agent(ctx)
	if err != nil {
		return "", err
	}
	return a.prompt(ctx, text)
}

// agent is one that runs.
func (s *supervisor) agent(ctx context.Context) (*agentProcess, error) {
	s.mu.Lock()
	a := s.running
	s.mu.Unlock()
	if a != nil && !a.exited(0) {
		return a, nil
	}
	p, err := s.spawn()
	if err != nil {
		return nil, fmt.Errorf("the agent could not be started: %w", err)
	}
	err = s.pids.add(pidEntry{PID: p.PID(), AgentID: s.agentID, SpawnedAt: time.Now(), ParentPID: os.Getpid()})
	a = attach(p, s.onUpdate, func() { _ = s.pids.remove(p.PID()) })
	s.mu.Lock()
	s.running = a
	s.mu.Unlock()
	if s.isClosing() { // and Shutdown may have looked before
		err = errShutdown
	}
	if err == nil {
		err = a.handshake(ctx, s.cwd)
	}
	if err != nil {
		s.retire()
		return nil, err
	}
	return a, nil
}

// rateLimit is how an agent may say that there were too many prompts. There is no code for that which all have.
var rateLimit = []*regexp.Regexp{
	regexp.MustCompile(`(?i)rate.?limit`),
	regexp.MustCompile(`\b429\b`),
	regexp.MustCompile(`(?i)quota exceeded`),
	regexp.MustCompile(`(?i)too many requests`),
}

func isRateLimit(err error) bool {
	return slices.ContainsFunc(rateLimit, func(r *regexp.Regexp) bool { return r.MatchString(err.Error()) })
}

// pause waits for up to a tenth more or less than d, so that agents that were turned away together do not come back together.
func (s *supervisor) pause(ctx context.Context, d time.Duration) error {
	d = time.Duration(float64(d) * (0.9 + 0.2*s.random()))
	if s.onBackoff != nil {
		s.onBackoff(d)
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-s.closing:
		return errShutdown
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Shutdown ends the agent, and with it what Prompt waits for. It returns when the process has exited.
func (s *supervisor) Shutdown() {
	s.mu.Lock()
	if !s.isClosing() {
		close(s.closing)
	}
	s.mu.Unlock()
	s.retire()
}

func (s *supervisor) isClosing() bool {
	select {
	case <-s.closing:
		return true
	default:
		return false
	}
}

func (s *supervisor) retire() {
	s.mu.Lock()
	a := s.running
	s.mu.Unlock()
	if a != nil {
		a.end(s.eofGrace, s.termGrace)
	}
}

// agentProcess is a process that speaks the protocol, from its start to its exit.
type agentProcess struct {
	process  mockproc.Process
	onUpdate func(agentUpdate)
	session  string
	stderr   stderrTail
	read     sync.WaitGroup // of stdout and stderr
	gone     chan struct{}  // closed when it has exited, and err is set

	writing sync.Mutex

	mu      sync.Mutex
	next    int                   // id of the next request
	pending map[int]chan rpcReply // by id
	err     error                 // how it exited: no request is answered any more
}

type rpcReply struct {
	result json.RawMessage
	err    error
}

// rpcMessage is any line of JSON-RPC. Which kind it is, id and method tell together.
type rpcMessage struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *rpcError       `json:"error,omitempty"`
}

// asJSON is a value as JSON. What a supervisor sends always has such a form.
func asJSON(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

func (e *rpcError) Error() string { return e.Message }

// agentUpdate is something that the agent says it does.
type agentUpdate struct {
	At            time.Time `json:"-"`
	SessionUpdate string
	Status        string
	Content       json.RawMessage
}

// text is what a chunk of a message says.
func (u agentUpdate) text() string {
	var c struct{ Text string }
	_ = json.Unmarshal(u.Content, &c)
	return c.Text
}

func attach(p mockproc.Process, onUpdate func(agentUpdate), onExit func()) *agentProcess {
	a := &agentProcess{process: p, onUpdate: onUpdate, gone: make(chan struct{}), pending: map[int]chan rpcReply{}}
	a.read.Go(a.readStdout)
	a.read.Go(func() { _, _ = io.Copy(&a.stderr, p.Stderr()) }) // all the time, or the agent would wait when the pipe is full
	go func() {
		a.awaitExit()
		onExit()
		close(a.gone)
	}()
	return a
}

// drainLimit is how long the output of an agent that has exited may stay open: whoever else has it, such as a server that it started, may
// never close it.
const drainLimit = time.Second

// awaitExit tells who waits for an answer that there will be none. What the agent wrote last comes first.
func (a *agentProcess) awaitExit() {
	<-a.process.Exited()
	drained := make(chan struct{})
	go func() {
		a.read.Wait()
		close(drained)
	}()
	limit := time.NewTimer(drainLimit)
	defer limit.Stop()
	select {
	case <-drained:
	case <-limit.C:
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.err = &exitError{a.process.ExitCode(), a.process.ExitSignal(), a.stderr.lastLines(3)}
	for _, answer := range a.pending {
		answer <- rpcReply{err: a.err}
	}
	a.pending = nil
}

// exitError is how an agent exited.
type exitError struct {
	code   int
	signal os.Signal
	stderr []string // its last lines
}

func (e *exitError) Error() string {
	how := fmt.Sprintf("the agent exited with code %d", e.code)
	if e.signal != nil {
		how = fmt.Sprintf("the agent was ended by signal %q", e.signal)
	}
	return strings.Join(append([]string{how}, e.stderr...), "\n")
}

func (a *agentProcess) readStdout() {
	out := bufio.NewReader(a.process.Stdout())
	for {
		line, err := out.ReadBytes('\n')
		var m rpcMessage
		if json.Unmarshal(line, &m) == nil { // an agent may log where it should not
			switch {
			case m.Method != "" && m.ID != nil:
				a.serve(m.ID, m.Method, m.Params)
			case m.ID != nil:
				a.settle(m.ID, rpcReply{m.Result, orNil(m.Error)})
			case m.Method == "session/update":
				var p struct{ Update agentUpdate }
				if json.Unmarshal(m.Params, &p) == nil {
					p.Update.At = time.Now()
					a.onUpdate(p.Update)
				}
			}
		}
		if err != nil {
			return
		}
	}
}

func orNil(e *rpcError) error {
	if e == nil {
		return nil
	}
	return e
}

// settle takes an answer to a request of ours.
func (a *agentProcess) settle(id json.RawMessage, r rpcReply) {
	var n int
	if json.Unmarshal(id, &n) != nil {
		return
	}
	a.mu.Lock()
	answer := a.pending[n]
	delete(a.pending, n)
	a.mu.Unlock()
	if answer != nil {
		answer <- r
	}
}

// serve answers a request of the agent's. Its ids are its own: one may be that of a request of ours which is open.
func (a *agentProcess) serve(id json.RawMessage, method string, params json.RawMessage) {
	if method != "session/request_permission" {
		_ = a.write(rpcMessage{ID: id, Error: &rpcError{-32601, "Method not found: " + method}})
		return
	}
	_ = a.write(rpcMessage{ID: id, Result: asJSON(map[string]any{"outcome": allowing(params)})})
}

// allowing says yes, once and for all if it can.
func allowing(params json.RawMessage) any {
	var p struct {
		Options []struct{ OptionID, Kind string }
	}
	_ = json.Unmarshal(params, &p)
	for _, kind := range []string{"allow_always", "allow_once"} {
		for _, o := range p.Options {
			if o.Kind == kind {
				return map[string]string{"outcome": "selected", "optionId": o.OptionID}
			}
		}
	}
	return map[string]string{"outcome": "cancelled"}
}

func (a *agentProcess) write(m rpcMessage) error {
	m.JSONRPC = "2.0"
	a.writing.Lock()
	defer a.writing.Unlock()
	_, err := a.process.Stdin().Write(append(asJSON(m), '\n'))
	return err
}

// ask sends a request. The answer comes, or the agent exits.
func (a *agentProcess) ask(method string, params any) (<-chan rpcReply, error) {
	answer := make(chan rpcReply, 1)
	a.mu.Lock()
	if a.err != nil {
		defer a.mu.Unlock()
		return nil, a.err
	}
	id := a.next
	a.next++
	a.pending[id] = answer
	a.mu.Unlock()
	if err := a.write(rpcMessage{ID: asJSON(id), Method: method, Params: asJSON(params)}); err != nil {
		return nil, fmt.Errorf("%s could not be sent: %w", method, err)
	}
	return answer, nil
}

// call is ask that waits, and unpacks the result.
func (a *agentProcess) call(ctx context.Context, method string, params, result any) error {
	answer, err := a.ask(method, params)
	if err != nil {
		return err
	}
	select {
	case r := <-answer:
		if r.err != nil {
			return r.err
		}
		return json.Unmarshal(r.result, result)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (a *agentProcess) handshake(ctx context.Context, cwd string) error {
	var agent struct{ ProtocolVersion int }
	if err := a.call(ctx, "initialize", map[string]any{"protocolVersion": 1}, &agent); err != nil {
		return err
	}
	if agent.ProtocolVersion != 1 {
		return fmt.Errorf("the agent speaks version %d of the protocol", agent.ProtocolVersion)
	}
	var session struct{ SessionID string }
	err := a.call(ctx, "session/new", map[string]any{"cwd": cwd, "mcpServers": []any{}}, &session)
	a.session = session.SessionID
	return err
}

// prompt plays a turn. When ctx ends it cancels it, and takes what the agent answers.
func (a *agentProcess) prompt(ctx context.Context, text string) (stopReason string, err error) {
	stop := context.AfterFunc(ctx, func() {
		_ = a.write(rpcMessage{Method: "session/cancel", Params: asJSON(map[string]string{"sessionId": a.session})})
	})
	defer stop()
	params := map[string]any{"sessionId": a.session, "prompt": []any{map[string]string{"type": "text", "text": text}}}
	var turn struct{ StopReason string }
	err = a.call(context.WithoutCancel(ctx), "session/prompt", params, &turn)
	return turn.StopReason, err
}

// exited says whether the process exits within d.
func (a *agentProcess) exited(d time.Duration) bool {
	select {
	case <-a.process.Exited():
		return true
	default:
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-a.process.Exited():
		return true
	case <-t.C:
		return false
	}
}

// end ends the process: it asks, insists, and makes sure.
func (a *agentProcess) end(eofGrace, termGrace time.Duration) {
	_ = a.process.Stdin().Close()
	if !a.exited(eofGrace) {
		a.process.Kill(syscall.SIGTERM)
		if !a.exited(termGrace) {
			a.process.Kill(os.Kill)
		}
	}
	<-a.gone
}

// stderrTail keeps the end of what is written to it.
type stderrTail struct {
	mu   sync.Mutex
	kept []byte
}

const tailSize = 4 << 10

func (t *stderrTail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, b...)
	t.kept = slices.Clone(t.kept[max(0, len(t.kept)-tailSize):])
	return len(b), nil
}

// lastLines are the last n that are not empty.
func (t *stderrTail) lastLines(n int) (lines []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for line := range bytes.Lines(t.kept) {
		if line := strings.TrimSpace(string(line)); line != "" {
			lines = append(lines, line)
		}
	}
	return lines[max(0, len(lines)-n):]
}

// pidFile is which processes a host has started, so that the next host can clean up if this one crashes. A nil one keeps nothing.
type pidFile struct {
	path string
	mu   sync.Mutex
}

type pidEntry struct {
	PID       int       `json:"pid"`
	AgentID   string    `json:"agentId"`
	SpawnedAt time.Time `json:"spawnedAt"`
	ParentPID int       `json:"parentPid"`
}

func (f *pidFile) add(e pidEntry) error {
	return f.change(func(all map[int]pidEntry) { all[e.PID] = e })
}

func (f *pidFile) remove(pid int) error {
	return f.change(func(all map[int]pidEntry) { delete(all, pid) })
}

func (f *pidFile) change(do func(map[int]pidEntry)) error {
	if f == nil {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	all, err := f.load()
	if err != nil {
		return err
	}
	do(all)
	data, err := json.Marshal(slices.Collect(maps.Values(all)))
	if err != nil {
		return err
	}
	if err := os.WriteFile(f.path+".new", data, 0o600); err != nil {
		return err
	}
	return os.Rename(f.path+".new", f.path)
}

func (f *pidFile) load() (map[int]pidEntry, error) {
	data, err := os.ReadFile(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return map[int]pidEntry{}, nil
	}
	var list []pidEntry
	if err == nil {
		err = json.Unmarshal(data, &list)
	}
	all := map[int]pidEntry{}
	for _, e := range list {
		all[e.PID] = e
	}
	return all, err
}

// reap kills the agents whose host has crashed. Those of a host that runs are left to it. It has no other way to a process than the two
// functions: that is what keeps it, in a test, from a PID that is a mock's here and somebody else's for the system.
func (f *pidFile) reap(alive func(pid int) bool, kill func(pid int) error) error {
	var failed error
	err := f.change(func(all map[int]pidEntry) {
		maps.DeleteFunc(all, func(pid int, e pidEntry) bool {
			switch {
			case alive(e.ParentPID):
				return false
			case !alive(pid):
				return true
			}
			err := kill(pid)
			failed = errors.Join(failed, err)
			return err == nil
		})
	})
	return errors.Join(err, failed)
}
