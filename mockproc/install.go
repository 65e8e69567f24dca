package mockproc

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"time"

	"github.com/understudy-go/understudy/fakeagent"
	"github.com/understudy-go/understudy/mockproc/pipe"
)

// Main is the main function of a program that is an agent of that scenario, on its own stdin, stdout and stderr. It does not return. A
// scenario or an option that is wrong is told on stderr, and ends the program with the code 2.
//
// An interrupt, SIGHUP and SIGTERM end it after it has ended its commands, which do not get them.
func Main(s Scenario, opts ...Option) {
	o := optionsOf(opts)
	s, err := s.real()
	if err == nil {
		err = o.wrong()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	exited := make(chan exit, 1)
	said, stdout := pipe.New(pipe.OSSize) // so that what an agent says fast is written many lines at a time
	l := life{
		scenario: s, cfg: o.agent, pid: pidOf(o.agent.Seed, 1, o.aboveMaxPID),
		stdout: stdout, stderr: os.Stderr, exited: func(e exit) { exited <- e },
	}
	ending := []os.Signal{os.Interrupt, syscall.SIGHUP, syscall.SIGTERM}
	if s.ignores(ignoreSIGTERM) { // by nobody who listens: what is really ignored its commands would inherit, and raise could not undo it
		signal.Notify(make(chan os.Signal, 1), syscall.SIGTERM)
		ending = ending[:2]
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, ending...)
	l.begin()
	go func() { l.exit(exit{signal: <-signals}) }()
	go l.run(os.Stdin)
	var last sync.WaitGroup
	last.Go(func() { _, _ = io.CopyBuffer(onlyWriter{os.Stdout}, onlyReader{said}, make([]byte, pipe.OSSize)) })
	e := <-exited
	_ = stdout.Close()
	last.Go(l.all.Wait) // so that no command of the script outlives it
	ended := make(chan struct{})
	go func() {
		last.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(lastLimit):
	}
	if e.signal != nil {
		raise(e.signal)
	}
	os.Exit(e.code)
}

// What io.Copy knows of a file or of a reader would go around the buffer.
type (
	onlyWriter struct{ io.Writer }
	onlyReader struct{ io.Reader }
)

// lastLimit is how long a process that exits waits for what still plays, as a call of an MCP server is not cut short, and for who reads.
const lastLimit = time.Second

// real is the scenario of a process that is no mock.
func (s Scenario) real() (Scenario, error) {
	s, err := s.resolved()
	if err == nil && s.has(OpenAfterExit) {
		err = fmt.Errorf("mockproc: scenario %s: the fault %s is for mocks; the output of a real process ends with it", s.Name, OpenAfterExit)
	}
	return s, err
}

// NoPATH leaves PATH as it is; see [Install].
func NoPATH() Option { return func(o *options) { o.noPATH = true } }

// Installed is an executable that is an agent.
type Installed struct{ path string }

// Path is its absolute path.
func (i *Installed) Path() string { return i.path }

// Install makes an executable of that name, which is an agent of the scenario, and puts its folder first on PATH until the end of the test.
// It is the test binary itself, under another name: it needs no environment, no TestMain, and no compiler. What arguments it gets, it does
// not look at.
//
// A test that runs in parallel to others gives [NoPATH], and [Installed.Path] to who starts it. Of [WithAgent] only Seed, Speed, Instant and
// AllowShell reach another process; it runs on real time, so Instant spares the test the waits of a scenario. Each process counts its turns and
// the attempts of a prompt anew. Nothing is known here of what a process was told: what a host does wrong is a violation of a [Mock] alone.
func Install(t T, name string, s Scenario, opts ...Option) *Installed {
	t.Helper()
	in, dir, err := newInstalled(name, s, optionsOf(opts))
	if dir != "" {
		t.Cleanup(func() { _ = os.RemoveAll(dir) })
	}
	if err != nil {
		t.Fatalf("mockproc: Install %s: %v", name, err)
	}
	if !optionsOf(opts).noPATH {
		path := dir
		if before := os.Getenv("PATH"); before != "" { // an empty folder there would be the current one
			path += string(os.PathListSeparator) + before
		}
		if !setenv(t, "PATH", path) {
			t.Fatalf("mockproc: Install %s: a test that runs in parallel cannot change PATH; give NoPATH, and Installed.Path to who starts it", name)
		}
	}
	return in
}

// newInstalled makes the executable in a folder of its own, which is "" if there is none.
func newInstalled(name string, s Scenario, o options) (in *Installed, dir string, err error) {
	if name == "" || name != filepath.Base(name) || name == "." || name == ".." {
		return nil, "", errors.New("the name must be that of a file, without a folder")
	}
	if s, err = s.real(); err != nil {
		return nil, "", err
	}
	if err := o.portable(); err != nil {
		return nil, "", err
	}
	if dir, err = os.MkdirTemp("", fmt.Sprintf("understudy-%d-bin-", os.Getpid())); err != nil {
		return nil, "", err
	}
	path := filepath.Join(dir, name)
	if runtime.GOOS == "windows" {
		path += ".exe"
	}
	a := o.agent
	if err := install(path, orders{s, a.Seed, a.Speed, a.Instant, a.AllowShell, o.aboveMaxPID}); err != nil {
		return nil, dir, err
	}
	return &Installed{path}, dir, nil
}

// portable says what of the options another process cannot have.
func (o options) portable() error {
	if a := o.agent; a.Files != nil || a.Shell != nil || a.MCP != nil || a.Spawn != nil || a.Logger != nil || a.Perform != nil {
		return errors.New("an agent in another process cannot have the Files, Shell, MCP, Spawn, Logger or Perform of this one")
	}
	if o.pipeSize != 0 {
		return errors.New("PipeSize is for mocks; the pipes of another process are those of the system")
	}
	return o.wrong()
}

// setenv sets a variable until the end of the test, as the test does it, if it can: it knows whether it runs in parallel, and panics then.
func setenv(t T, key, value string) (done bool) {
	if t, ok := t.(interface{ Setenv(key, value string) }); ok {
		defer func() { done = recover() == nil }()
		t.Setenv(key, value)
		return true
	}
	before, was := os.LookupEnv(key)
	t.Cleanup(func() {
		if _ = os.Setenv(key, before); !was {
			_ = os.Unsetenv(key)
		}
	})
	_ = os.Setenv(key, value)
	return true
}

// orders are what an installed executable does. They lie beside it.
type orders struct {
	Scenario    Scenario
	Seed        uint64
	Speed       float64
	Instant     bool
	AllowShell  bool
	AboveMaxPID bool
}

// ordersFile is behind the executable's path.
const ordersFile = ".understudy.json"

func install(path string, o orders) error {
	data, err := toJSON(o)
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if err := os.WriteFile(path+ordersFile, data, 0o600); err != nil {
		return err
	}
	if os.Link(self, path) == nil {
		return nil
	}
	return clone(self, path)
}

// clone copies an executable to another file system.
func clone(from, to string) error {
	// A child that is forked meanwhile would have the file open for writing, and nobody could run it then.
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o700)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// init is where the test binary finds out that it is an agent.
func init() {
	self, err := os.Executable()
	if err != nil {
		return
	}
	data, err := os.ReadFile(self + ordersFile)
	if err != nil {
		return
	}
	var o orders
	if err := json.Unmarshal(data, &o); err != nil {
		fmt.Fprintf(os.Stderr, "mockproc: %s: %v\n", self+ordersFile, err)
		os.Exit(2)
	}
	opts := []Option{WithAgent(fakeagent.Config{Seed: o.Seed, Speed: o.Speed, Instant: o.Instant, AllowShell: o.AllowShell})}
	if o.AboveMaxPID {
		opts = append(opts, AboveMaxPID())
	}
	Main(o.Scenario, opts...)
}
