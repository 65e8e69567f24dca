package mcpcall

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/understudy-go/understudy/fakeagent"
	"github.com/understudy-go/understudy/fakeagent/internal/procgroup"
)

// process is a server that is a command, and the connection with it: a message a line. The SDK's own does not tell how the process
// ended, and lets what the process started live on.
type process struct {
	cmd           *exec.Cmd
	kill          func()
	grace         time.Duration // what was given when it started: it may outlive the spec that gave it
	stdin, stdout *os.File
	stderr        tail

	incoming chan jsonrpc.Message
	silent   chan struct{} // closed when nothing more comes in
	ended    chan struct{} // closed when the process is over, and what it started
	closing  chan struct{}
	once     sync.Once
	forced   atomic.Bool // it did not end by itself

	writing sync.Mutex

	mu    sync.Mutex
	asked map[jsonrpc.ID]bool
	lost  bool   // its stdout has ended, or it does not read its stdin
	fault string // what it did wrong
}

var (
	errLost  = errors.New("it is gone")
	errFault = errors.New("it broke the protocol")
)

func newProcess(to fakeagent.MCPConnect) (*process, error) {
	p := &process{
		cmd:      exec.Command(to.Server.Command, to.Server.Args...),
		grace:    grace,
		incoming: make(chan jsonrpc.Message),
		silent:   make(chan struct{}),
		ended:    make(chan struct{}),
		closing:  make(chan struct{}),
		asked:    map[jsonrpc.ID]bool{},
	}
	p.cmd.Dir = to.Session.Cwd
	p.cmd.Env = environ(to.Session.Env, to.Server.Env)
	if to.Spawn != nil {
		if err := to.Spawn(p.cmd); err != nil {
			return nil, err
		}
	}
	p.kill = procgroup.Own(p.cmd)
	p.cmd.Cancel = nil // which is for commands with a context
	stderr, err := p.start()
	if err != nil {
		return nil, explain(err, p.cmd)
	}
	go p.read()
	go p.wait(stderr)
	return p, nil
}

func (p *process) start() (stderr *os.File, err error) {
	var pipes [6]*os.File // ends to read from and to write to: stdin, stdout, stderr
	defer func() {
		for i, f := range pipes {
			if ours := i == 1 || i == 2 || i == 4; f != nil && (err != nil || !ours) {
				f.Close()
			}
		}
	}()
	for i := 0; i < len(pipes); i += 2 {
		if pipes[i], pipes[i+1], err = os.Pipe(); err != nil {
			return nil, err
		}
	}
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = pipes[0], pipes[3], pipes[5]
	p.stdin, p.stdout = pipes[1], pipes[2]
	return pipes[4], p.cmd.Start()
}

// explain says what a start that failed may mean.
func explain(err error, cmd *exec.Cmd) error {
	if _, gone := os.Stat(cmd.Dir); cmd.Dir != "" && gone != nil {
		return errors.New("it cannot be started, since the session's cwd is not there; create the folder first")
	}
	switch {
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("there is no command %q; give a path, or a name that is in PATH", cmd.Args[0])
	case errors.Is(err, os.ErrPermission):
		return fmt.Errorf("the command %q may not be executed; is it a program, with the permission to run?", cmd.Args[0])
	}
	return fmt.Errorf("the command %q cannot be started: %w", cmd.Args[0], err)
}

// wait sees the process end.
func (p *process) wait(stderr *os.File) {
	defer close(p.ended)
	said := make(chan struct{})
	go func() {
		defer close(said)
		_, _ = io.Copy(&p.stderr, stderr)
	}()
	_ = p.cmd.Wait() // the state has it
	p.kill()         // what it left behind
	last := time.Now().Add(p.grace)
	_, _ = stderr.SetReadDeadline(last), p.stdout.SetReadDeadline(last) // what left its group may still have them
	<-said
	stderr.Close()
}

// read takes in what the process says, line by line.
func (p *process) read() {
	defer p.stdout.Close() // a process that still writes ends by that
	defer close(p.silent)
	r := bufio.NewReaderSize(p.stdout, 64<<10)
	for {
		line, err := readLine(r)
		if errors.Is(err, errTooLong) {
			p.fail(err.Error())
			return
		}
		if text := bytes.TrimSpace(line); len(text) > 0 {
			msg, wrong := p.decode(text)
			if wrong != "" && err == nil {
				p.fail(wrong)
				return
			}
			if wrong == "" {
				select {
				case p.incoming <- msg:
				case <-p.closing:
				}
			}
		}
		if err != nil {
			p.lose()
			return
		}
	}
}

func readLine(r *bufio.Reader) (line []byte, err error) {
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		if len(line) > largest {
			return nil, errTooLong
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

func (p *process) decode(line []byte) (msg jsonrpc.Message, wrong string) {
	msg, err := jsonrpc.DecodeMessage(line)
	if err != nil {
		return nil, fmt.Sprintf("it wrote a line to stdout that is no message of the protocol (what it logs belongs on stderr): %s", line)
	}
	if r, ok := msg.(*jsonrpc.Response); ok {
		p.mu.Lock()
		defer p.mu.Unlock()
		switch {
		case p.asked[r.ID]:
			delete(p.asked, r.ID)
		case r.Error != nil:
			return nil, fmt.Sprintf("it sent an error that answers no request: %v", r.Error)
		default:
			return nil, fmt.Sprintf("it answered with the id %v, which no request has", r.ID.Raw())
		}
	}
	return msg, ""
}

func (p *process) fail(why string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fault = why
}

// lose notes that the process hung up, unless we did.
func (p *process) lose() {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.closing:
	default:
		p.lost = true
	}
}

// sign waits for a process that seems to end.
func (p *process) sign() string {
	p.mu.Lock()
	fault, lost := p.fault, p.lost
	p.mu.Unlock()
	if fault != "" || !lost {
		return fault
	}
	if !p.over() || p.forced.Load() {
		return "it closed its stdin or stdout, but went on running"
	}
	return fmt.Sprintf("the process ended (%s)", p.cmd.ProcessState)
}

func (p *process) refusal() string { return "" }

func (p *process) said() string { return p.stderr.last() }

func (p *process) close() {
	p.once.Do(func() {
		p.mu.Lock()
		close(p.closing)
		lost := p.lost
		p.mu.Unlock()
		if lost && !p.over() { // it may be about to end, and sign is to say how
			p.forced.Store(true)
		}
		p.stdin.Close()
		for _, end := range []func(){func() { _ = p.cmd.Process.Signal(syscall.SIGTERM) }, p.kill} {
			if p.over() {
				break
			}
			p.forced.Store(true)
			end()
		}
		p.over()
		p.stdout.Close()
	})
}

// over gives the process time to end.
func (p *process) over() bool {
	timer := time.NewTimer(p.grace)
	defer timer.Stop()
	select {
	case <-p.ended:
		return true
	case <-timer.C:
		return false
	}
}

func (p *process) transport() mcp.Transport { return pipes{p} }

// pipes is a process as the SDK sees it: as a transport, and as the connection.
type pipes struct{ p *process }

func (c pipes) Connect(context.Context) (mcp.Connection, error) { return c, nil }

func (c pipes) SessionID() string { return "" }

func (c pipes) Read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case msg := <-c.p.incoming:
		return msg, nil
	case <-c.p.silent:
		if c.p.fault != "" {
			return nil, errFault
		}
		return nil, errLost
	case <-c.p.closing:
		return nil, io.EOF
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (c pipes) Write(ctx context.Context, msg jsonrpc.Message) error {
	data, err := jsonrpc.EncodeMessage(msg)
	if err != nil {
		return err
	}
	if r, ok := msg.(*jsonrpc.Request); ok && r.IsCall() {
		c.p.mu.Lock()
		c.p.asked[r.ID] = true
		c.p.mu.Unlock()
	}
	c.p.writing.Lock()
	defer c.p.writing.Unlock()
	unblocked := make(chan struct{})
	stop := context.AfterFunc(ctx, func() { // a server may not read
		_ = c.p.stdin.SetWriteDeadline(time.Unix(1, 0))
		close(unblocked)
	})
	_, err = c.p.stdin.Write(append(data, '\n'))
	if !stop() { // it may have been written all the same, and then the next message can be
		<-unblocked
		_ = c.p.stdin.SetWriteDeadline(time.Time{})
	}
	if err != nil {
		c.p.lose()
		return errLost
	}
	return nil
}

func (c pipes) Close() error {
	c.p.close()
	return nil
}

// tail keeps the end of what a process writes to stderr. It takes all of it, so that the process never waits.
type tail struct {
	mu  sync.Mutex
	end []byte
	cut bool // there was more before
}

const tailSize = 4 << 10

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.end = append(t.end, b...)
	if over := len(t.end) - tailSize; over > 0 {
		t.end, t.cut = append(t.end[:0], t.end[over:]...), true
	}
	return len(b), nil
}

// last is the last line that is not empty. Of a line that is too long it is what follows the first space that was kept: half a word
// could be half a secret, which nobody would recognize.
func (t *tail) last() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := strings.TrimSpace(string(t.end))
	if i := strings.LastIndexByte(text, '\n'); i >= 0 {
		text = text[i+1:]
	} else if t.cut {
		_, text, _ = strings.Cut(text, " ")
	}
	return text
}
