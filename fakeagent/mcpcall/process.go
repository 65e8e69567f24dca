package mcpcall

import (
	"fmt"
	"os/exec"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/understudy-go/understudy/fakeagent"
	"github.com/understudy-go/understudy/fakeagent/internal/procgroup"
)

// process is a server that is a command.
type process struct {
	cmd    *exec.Cmd
	kill   func()
	stderr tail
}

func newProcess(to fakeagent.MCPConnect) (*process, error) {
	p := &process{cmd: exec.Command(to.Server.Command, to.Server.Args...)}
	p.cmd.Dir = to.Session.Cwd
	p.cmd.Env = environ(to.Session.Env, to.Server.Env)
	p.cmd.Stderr = &p.stderr
	p.cmd.WaitDelay = grace // a child of the server's may still have its stderr
	if err := spawn(to, p.cmd); err != nil {
		return nil, err
	}
	p.kill = procgroup.Own(p.cmd)
	p.cmd.Cancel = nil // which is for commands with a context
	return p, nil
}

func (p *process) transport() mcp.Transport {
	return &mcp.CommandTransport{Command: p.cmd, TerminateDuration: grace}
}

// sign is how the process ended, and the last that it said.
func (p *process) sign() string {
	said := p.stderr.last()
	if state := p.cmd.ProcessState; state != nil {
		if said != "" {
			return fmt.Sprintf("the process ended (%s); it said: %s", state, said)
		}
		return fmt.Sprintf("the process ended (%s)", state)
	}
	return ""
}

func (p *process) close() { p.kill() }

// tail keeps the end of what a process writes to stderr. It takes all of it, so that the process never waits.
type tail struct {
	mu  sync.Mutex
	end []byte
}

const tailSize = 4 << 10

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.end = append(t.end, b...)
	if over := len(t.end) - tailSize; over > 0 {
		t.end = append(t.end[:0], t.end[over:]...)
	}
	return len(b), nil
}

// last is the last line that is not empty.
func (t *tail) last() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := strings.Split(strings.TrimSpace(string(t.end)), "\n")
	line := strings.ToValidUTF8(strings.TrimSpace(lines[len(lines)-1]), "")
	if len(line) > 200 {
		line = strings.ToValidUTF8(line[:200], "") + "…"
	}
	return line
}
