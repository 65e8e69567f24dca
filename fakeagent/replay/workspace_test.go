package replay_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/understudy-go/understudy/fakeagent"
	"github.com/understudy-go/understudy/fakeagent/event"
	"github.com/understudy-go/understudy/fakeagent/replay"
	"github.com/understudy-go/understudy/fakeagent/script"
	. "github.com/understudy-go/understudy/matchers"
	"github.com/understudy-go/understudy/timelinekit"
)

// outcome is what came of the example journal in a workspace.
type outcome struct {
	err      error
	warnings []replay.Kind
	commits  int
}

var _ = Describe("A journal with commits", func() {
	ctx := context.Background()
	first := replay.Request{Prompt: "Make the greeting polite."}

	play := func(r *repo, entries []replay.Entry, opts ...replay.Option) outcome {
		GinkgoHelper()
		var out outcome
		a, err := replay.New(entries, append(opts, replay.WithRunner(r.runner), replay.WithWarnings(func(err error) {
			Expect(err).To(BeAssignableToTypeOf(&replay.Divergence{}))
			out.warnings = append(out.warnings, err.(*replay.Divergence).Kind)
		}))...)
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(a.Close)
		request := first
		request.Cwd = r.dir
		played, err := a.Play(ctx, request)
		out.err, out.commits = err, len(played.Commits)
		return out
	}

	It("makes them again, with the same ids, after the events of their turn", func() {
		r := greetingRepo(GinkgoTB())
		a := replay.ForTest(GinkgoTB(), greeting(), replay.WithRunner(r.runner))
		request := first
		request.Cwd = r.dir
		request.Observe = func(replay.Observation) { Expect(r.head()).To(Equal(greetingBase)) }
		played, err := a.Play(ctx, request)
		Expect(err).NotTo(HaveOccurred())
		Expect(played.Commits).To(Equal([]string{greetingOne, greetingEnd}))
		Expect(r.head()).To(Equal(greetingEnd))
		Expect([]string{r.read("greet.txt"), r.read("bye.txt")}).To(Equal([]string{"good day\n", "farewell\n"}))
		Expect(r.git("status", "--porcelain")).To(BeEmpty())
		Expect(a.Report().Commits).To(Equal(played.Commits))
	})

	It("makes them in a copy, whose files are all newer", func() {
		r := greetingRepo(GinkgoTB())
		copied := r.at(filepath.Join(GinkgoT().TempDir(), "copy"))
		Expect(os.CopyFS(copied.dir, os.DirFS(r.dir))).To(Succeed())
		Expect(play(copied, greeting())).To(Equal(outcome{commits: 2}))
		Expect(copied.head()).To(Equal(greetingEnd))
	})

	It("makes them on another commit of the same files, with the same trees", func() {
		r := newRepo(GinkgoTB())
		r.write("greet.txt", "hello\n")
		r.commit("Another start\n")
		Expect(play(r, greeting())).To(Equal(outcome{commits: 2}))
		Expect(r.head()).NotTo(Equal(greetingEnd))
		Expect(r.git("rev-parse", "HEAD^{tree}")).To(Equal("931ef76b6da2d1e2848f27120ea372cc16581033"))
	})

	Describe("in a workspace that is not as it was", func() {
		edited := func(r *repo) { r.commitFile("greet.txt", "good day\n") }
		extra := func(r *repo) { r.commitFile("z.txt", "z\n") }
		staged := func(r *repo) {
			r.write("z.txt", "z\n")
			r.git("add", "z.txt")
		}
		inTheWay := func(r *repo) { r.write("bye.txt", "mine\n") }
		const (
			baseline = replay.KindBaseline
			tree     = replay.KindTree
			dirty    = replay.KindDirty
		)

		DescribeTable("fails, or goes on with warnings, as far as that is possible",
			func(change func(*repo), fails replay.Kind, madeThen int, warnings []replay.Kind, ends replay.Kind, made int, opts ...replay.Option) {
				for _, policy := range []replay.Policy{replay.Fail, replay.Warn} {
					r := greetingRepo(GinkgoTB())
					change(r)
					before := r.head()
					own, mine := r.read("bye.txt"), r.read("z.txt")
					got := play(r, greeting(), append([]replay.Option{replay.WithDivergence(policy)}, opts...)...)
					kind, count := ends, made
					if policy == replay.Fail {
						kind, count = fails, madeThen
						Expect(got.warnings).To(BeEmpty())
					} else {
						Expect(got.warnings).To(Equal(warnings))
					}
					Expect(got.commits).To(Equal(count))
					if kind == "" {
						Expect(got.err).NotTo(HaveOccurred())
					} else {
						Expect(got.err).To(And(BeAssignableToTypeOf(&replay.Divergence{}), HaveField("Kind", kind), HaveField("Turn", 2)))
						Expect(r.read("bye.txt")).To(Equal(own), "what is the user's stays")
					}
					Expect(r.read("z.txt")).To(Equal(mine))
					Expect(r.git("rev-list", "--count", before+"..HEAD")).To(Equal([]string{"0", "1", "2"}[count]))
				}
			},
			Entry("the file that the first one changes is changed already", edited, baseline, 0, []replay.Kind{baseline}, tree, 0),
			Entry("a file more is committed", extra, baseline, 0, []replay.Kind{baseline, tree, tree}, replay.Kind(""), 2),
			Entry("a file is staged", staged, dirty, 0, []replay.Kind{dirty, tree, tree}, replay.Kind(""), 2),
			Entry("a file is in the way", inTheWay, dirty, 0, []replay.Kind{dirty}, tree, 1),
			Entry("a file is staged, and nobody looks", staged, tree, 0, []replay.Kind{tree, tree}, replay.Kind(""), 2, replay.WithoutCleanCheck()),
			Entry("a file is in the way, and nobody looks", inTheWay, tree, 1, []replay.Kind(nil), tree, 1, replay.WithoutCleanCheck()),
		)

		It("carries off what was staged, where it goes on", func() {
			r := greetingRepo(GinkgoTB())
			staged(r)
			Expect(play(r, greeting(), replay.WithDivergence(replay.Warn)).err).NotTo(HaveOccurred())
			Expect(r.files()).To(ContainElement(HaveSuffix("\tz.txt")))
		})

		It("leaves what failed, where that is wanted", func() {
			r := greetingRepo(GinkgoTB())
			staged(r)
			Expect(play(r, greeting(), replay.WithoutCleanCheck(), replay.KeepFailed()).err).To(HaveField("Kind", tree))
			Expect(r.read("greet.txt")).To(Equal("good day\n"))
		})
	})

	It("says what was not recorded, after the events, and makes nothing", func() {
		journal := greeting()
		journal = append(journal[:14:14], journal[15:]...)
		r := greetingRepo(GinkgoTB())
		Expect(play(r, journal).err).To(And(HaveField("Kind", replay.KindUnrecorded), HaveField("Turn", 2)))
		Expect(play(r, journal, replay.WithDivergence(replay.Warn))).To(Equal(outcome{warnings: []replay.Kind{replay.KindUnrecorded}}))
		Expect(play(r, journal, replay.WithoutWorkspace())).To(Equal(outcome{}))
		Expect(r.head()).To(Equal(greetingBase))
		Expect(r.runner.commands()).To(BeEmpty(), "git was not asked")
	})

	It("needs to know where, and is told nothing else than that it can do without", func() {
		a, err := replay.New(greeting())
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(a.Close)
		_, err = a.Play(ctx, first)
		Expect(err).To(And(MatchError(And(ContainSubstring("turn 2 has commits"), ContainSubstring("WithoutWorkspace"))), ofCode(replay.Configuration)))
	})

	It("fails again as it had failed, when its commits are made", func() {
		journal := greeting()
		journal[15] = replay.Entry(`{"kind":"dispatch-finished","source":"sandbox","status":"failed","completed":false,"usage":{"input":0,"cached":0,"output":0},"error":{"code":"timeout","message":"too slow"}}`)
		journal = append(journal[:13:13], journal[14:]...) // without the summary
		r := greetingRepo(GinkgoTB())
		Expect(play(r, journal)).To(Equal(outcome{err: &replay.Failure{Code: "timeout", Message: "too slow"}, commits: 2}))
		Expect(r.head()).To(Equal(greetingEnd))
	})

	It("gives git the variables of the agent, above those of the host", func() {
		r := greetingRepo(GinkgoTB())
		f := replay.ReplayFeatures()
		f.Variables = map[string]string{"AGENT_A": "agent"}
		a, err := replay.New(greeting(), replay.WithRunner(r.runner), replay.WithFeatures(f))
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(a.Close)
		_, err = a.Play(ctx, replay.Request{Prompt: first.Prompt, Cwd: r.dir, Env: map[string]string{"AGENT_A": "host", "HOST_B": "host"}})
		Expect(err).NotTo(HaveOccurred())
		for _, c := range r.runner.ran {
			Expect(c.Env).To(And(HaveKeyWithValue("AGENT_A", "agent"), HaveKeyWithValue("HOST_B", "host"), HaveKeyWithValue("LC_ALL", "C")))
		}
	})

	It("stops between its commits when its context ends, and undoes what is half done", func() {
		for n := range 12 {
			r := greetingRepo(GinkgoTB())
			gone, cancel := context.WithCancel(ctx)
			count := 0
			r.runner.around = func(ctx context.Context, c replay.Command, run func(context.Context, replay.Command) (replay.Result, error)) (replay.Result, error) {
				if count++; count == n+1 {
					cancel()
				}
				return run(ctx, c)
			}
			a, err := replay.New(greeting(), replay.WithRunner(r.runner))
			Expect(err).NotTo(HaveOccurred())
			_, err = a.Play(gone, replay.Request{Prompt: first.Prompt, Cwd: r.dir})
			cancel()
			r.runner.around = nil
			Expect(a.Close()).To(Succeed())
			if err == nil {
				Expect(r.head()).To(Equal(greetingEnd))
				continue
			}
			Expect(err).To(ofCode(replay.Aborted))
			Expect([]string{greetingBase, greetingOne, greetingEnd}).To(ContainElement(r.head()))
			Expect(r.git("status", "--porcelain")).To(BeEmpty())
		}
	})

	It("tells branches apart by their names alone, where the journal says so", func() {
		lines := append([]replay.Entry{replay.Entry(`{"kind":"journal","schema":1,"normalisers":["branch","path"],"cwd":"/recorded/work"}`)}, greeting()...)
		for i, e := range lines {
			lines[i] = replay.Entry(strings.ReplaceAll(string(e), "Make the greeting polite.", "Make the greeting polite, on demo, in /recorded/work/greet.txt."))
		}
		r := greetingRepo(GinkgoTB())
		r.git("checkout", "-q", "-b", "kit/polite")
		a, err := replay.New(lines, replay.WithRunner(r.runner))
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(a.Close)
		_, err = a.Play(ctx, replay.Request{Prompt: "Make the greeting polite, on kit/polite, in " + r.dir + "/greet.txt.", Cwd: r.dir})
		Expect(err).NotTo(HaveOccurred())
		Expect(r.head()).To(Equal(greetingEnd))
	})

	It("makes those of all to whom a turn was handed over", func() {
		r := greetingRepo(GinkgoTB())
		journal := greeting()
		for i, e := range journal {
			if strings.Contains(string(e), `"stopped"`) {
				journal[i] = replay.Entry(`{"kind":"stopped","source":"agent","reason":"completion"}`)
			}
			if strings.Contains(string(e), `"resumed"`) {
				journal[i] = replay.Entry(`{"kind":"fallback","source":"agent","from":{"index":0,"name":"claude"},"to":{"index":1,"name":"codex"},"failure":"quota","message":"used up"}`)
			}
		}
		both := greetingChanges(GinkgoTB())
		first, second := *both, replay.Changes{Baseline: &replay.Revision{Commit: greetingOne, Tree: both.Commits[0].Tree}, Commits: both.Commits[1:]}
		first.Commits = both.Commits[:1]
		var entries []replay.Entry
		for _, e := range journal {
			switch text := string(e); {
			case strings.Contains(text, `"workspace-commits"`):
				for turn, c := range []*replay.Changes{&first, &second} {
					b := must(json.Marshal(c))
					entries = append(entries, replay.Entry(fmt.Sprintf(`{"kind":"workspace-commits","source":"git","turn":%d,%s`, turn+1, b[1:])))
				}
			case strings.Contains(text, `"fallback"`):
				entries = append(entries, e, replay.Entry(`{"kind":"prompt","source":"agent","text":"go on"}`))
			default:
				entries = append(entries, e)
			}
		}
		played, err := replay.ForTest(GinkgoT(), entries, replay.WithRunner(r.runner)).PlayTurn(context.Background(), replay.Request{Prompt: "Make the greeting polite.", Cwd: r.dir})
		Expect(err).NotTo(HaveOccurred())
		Expect(played.Commits).To(Equal([]string{greetingOne, greetingEnd}))
	})

	It("says what was not quite as recorded: to who asks, in the report, and as events", func(ctx SpecContext) {
		r := greetingRepo(GinkgoTB())
		journal := greeting()
		for i, e := range journal {
			journal[i] = replay.Entry(strings.Replace(string(e), `"message":"Be polite\n"`, `"raw":"AAAA","message":"Be polite\n"`, 1))
		}
		var warned []error
		a := replay.ForTest(GinkgoT(), journal, replay.WithRunner(r.runner), replay.WithWarnings(func(err error) { warned = append(warned, err) }))
		all := &told{}
		a.Subscribe(all.hear)
		host := timelinekit.NewHost(GinkgoT(), timelinekit.WithProvider("replay", a))
		Expect(host.RunPrompt(ctx, "Make the greeting polite.", timelinekit.Cwd(r.dir))).To(EndCompleted())
		Expect(warned).To(HaveExactElements(MatchError(ContainSubstring("was made of its parts"))))
		Expect(a.Report().Warnings).To(Equal([]string{warned[0].Error()}))
		Expect(all.events).To(EmitEvents("runtime.warning"))
	})

	It("gives git the variables of the session that a provider plays in", func(ctx SpecContext) {
		r := greetingRepo(GinkgoTB())
		var seen []string
		r.runner.around = func(running context.Context, c replay.Command, run runs) (replay.Result, error) {
			seen = append(seen, c.Env["HOST"])
			return run(running, c)
		}
		a := replay.ForTest(GinkgoT(), greeting(), replay.WithRunner(r.runner))
		ended := make(chan struct{})
		a.Subscribe(func(e event.Event) {
			if _, over := e.Payload.(event.TurnCompleted); over {
				close(ended)
			}
		})
		Expect(a.StartSession(ctx, fakeagent.SessionConfig{ThreadID: "a", Cwd: r.dir, Env: map[string]string{"HOST": "mine"}})).To(Succeed())
		Expect(a.SendTurn(ctx, fakeagent.TurnInput{ThreadID: "a", Text: "Make the greeting polite."})).NotTo(BeEmpty())
		<-ended
		Expect(seen).To(And(Not(BeEmpty()), HaveEach("mine")))
	})

	It("is played by a provider in the folder of its session, before the turn ends", func(ctx SpecContext) {
		r := greetingRepo(GinkgoTB())
		a := replay.ForTest(GinkgoT(), greeting(), replay.WithRunner(r.runner))
		a.Subscribe(func(e event.Event) {
			if _, over := e.Payload.(event.TurnCompleted); over {
				Expect(r.head()).To(Equal(greetingEnd))
			}
		})
		host := timelinekit.NewHost(GinkgoT(), timelinekit.WithProvider("replay", a))
		Expect(host.RunPrompt(ctx, first.Prompt, timelinekit.Cwd(r.dir))).To(EndCompleted())
	})
})

var _ = Describe("A recorder in a workspace", func() {
	// record begins the journal of a run in a repository.
	record := func(ctx context.Context, r *repo, cfg replay.RecorderConfig) (rec *replay.Recorder, path string) {
		GinkgoHelper()
		path = filepath.Join(GinkgoT().TempDir(), "run.jsonl")
		cfg.Dir, cfg.Runner = r.dir, r.runner
		rec, err := replay.NewRecorder(ctx, path, cfg)
		Expect(err).NotTo(HaveOccurred())
		return rec, path
	}

	It("has the commits of each turn, which a replay makes where they were made", func(ctx SpecContext) {
		r := greetingRepo(GinkgoTB())
		rec, path := record(ctx, r, replay.RecorderConfig{Normalisers: []replay.Normaliser{replay.Paths}})
		commit := func(message string) script.Step {
			return script.BashRun("git -c user.name='Kit Agent' -c user.email=agent@example.test commit -qam '" + message + "'")
		}
		cfg := fakeagent.Scripted()
		cfg.AllowShell = true
		cfg.Spawn = func(cmd *exec.Cmd) error {
			cmd.Env = append(cmd.Env, "GIT_CONFIG_GLOBAL=/dev/null")
			return nil
		}
		host := timelinekit.NewHost(GinkgoT(), timelinekit.WithProvider("fake", rec.Provider(fakeagent.NewT(GinkgoT(), cfg))))
		turns := []script.Script{
			script.New(script.Write("greet.txt", "good day\n"), commit("Be polite"), script.Write("greet.txt", "good evening\n"), commit("Be later")),
			script.New(script.Say("nothing to do")),
			script.New(script.Write("greet.txt", "good night\n"), commit("Be late")),
		}
		host.RunFakeAgentTurn(ctx, turns[0], timelinekit.AgentID("a"), timelinekit.Cwd(r.dir))
		heads := []string{r.head()}
		for _, s := range turns[1:] {
			host.SendFakeAgentTurn(ctx, "a", s)
			heads = append(heads, r.head())
		}
		Expect(rec.Close(ctx, nil)).To(Succeed())
		Expect(rec.Warnings()).To(BeEmpty())

		again := greetingRepo(GinkgoTB())
		a := replay.ForTest(GinkgoT(), replay.Entries(GinkgoT(), path), replay.WithRunner(again.runner))
		Expect(a.Turns()).To(HaveExactElements(HaveField("Changes.Commits", HaveLen(2)), HaveField("Changes", BeNil()), HaveField("Changes.Commits", HaveLen(1))))
		for i, s := range turns {
			_, err := a.Play(ctx, replay.Request{Prompt: s.String(), Cwd: again.dir})
			Expect(err).NotTo(HaveOccurred())
			Expect(again.head()).To(Equal(heads[i]))
		}
	})

	It("keeps no other thread waiting while git works for the one that it records", func(ctx SpecContext) {
		r := greetingRepo(GinkgoTB())
		rec, _ := record(ctx, r, replay.RecorderConfig{})
		working, goOn := make(chan bool), make(chan bool)
		first := sync.OnceFunc(func() { close(working); <-goOn })
		r.runner.around = func(ctx context.Context, c replay.Command, run runs) (replay.Result, error) {
			first()
			return run(ctx, c)
		}
		p := rec.Provider(fakeagent.NewT(GinkgoT(), fakeagent.Scripted()))
		over := make(chan string, 2)
		p.Subscribe(func(e event.Event) {
			if _, ended := e.Payload.(event.TurnCompleted); ended {
				over <- e.ThreadID
			}
		})
		for _, thread := range []string{"a", "b"} {
			Expect(p.StartSession(ctx, fakeagent.SessionConfig{ThreadID: thread})).To(Succeed())
		}
		Expect(p.SendTurn(ctx, fakeagent.TurnInput{ThreadID: "a", Text: "go"})).NotTo(BeEmpty())
		<-working
		Expect(p.SendTurn(ctx, fakeagent.TurnInput{ThreadID: "b", Text: "go"})).NotTo(BeEmpty())
		Expect(<-over).To(Equal("b"))
		close(goOn)
		Expect(<-over).To(Equal("a"))
		Expect(rec.Close(ctx, nil)).To(Succeed())
	})

	It("has the commits of the turn that made them, whatever else was a turn", func(ctx SpecContext) {
		r := greetingRepo(GinkgoTB())
		rec, path := record(ctx, r, replay.RecorderConfig{})
		sum := map[string]any{"durationMs": 1, "status": 0, "tokens": replay.Usage{}}
		add := func(kind string, fields map[string]any) { rec.Add(replay.SourceAgent, kind, fields) }
		add("prompt", map[string]any{"text": "one"})
		r.commitFile("first", "1")
		add("steer", map[string]any{"text": "more", "mode": "resumed"})
		add("prompt", map[string]any{"text": "the user says: more"})
		add("text", map[string]any{"text": "b"})
		add("summary", sum)
		add("prompt", map[string]any{"text": "three"})
		r.commitFile("x", "x")
		add("summary", sum)
		Expect(rec.Close(ctx, nil)).To(Succeed())
		a := agentOf(replay.Entries(GinkgoT(), path))
		Expect(a.Turns()).To(HaveExactElements(
			HaveField("Changes.Commits", HaveExactElements(HaveField("Patch", ContainSubstring("first")))),
			And(HaveField("Changes", BeNil()), HaveField("Prompt", "the user says: more"), HaveField("ResumedBy", []string{"more"})),
			HaveField("Changes.Commits", HaveExactElements(HaveField("Patch", ContainSubstring("b/x"))))))
	})

	It("has the commits of a turn that failed, but not what came behind it, and those of a run that was canceled", func(ctx SpecContext) {
		r := greetingRepo(GinkgoTB())
		running, cancel := context.WithCancel(ctx)
		rec, path := record(running, r, replay.RecorderConfig{})
		agent := fakeagent.NewT(GinkgoT(), fakeagent.Config{Perform: func(context.Context, *fakeagent.Performance) error {
			r.commitFile("agent.txt", "a")
			return errors.New("rate limit")
		}})
		timelinekit.NewHost(GinkgoT(), timelinekit.WithProvider("fake", rec.Provider(agent))).RunPrompt(ctx, "go", timelinekit.Cwd(r.dir))
		r.commitFile("user.txt", "u")
		rec.Add(replay.SourceAgent, "prompt", map[string]any{"text": "two"})
		r.commitFile("late.txt", "l")
		cancel()
		Expect(rec.Close(running, running.Err())).To(Succeed())
		a := agentOf(replay.Entries(GinkgoT(), path))
		Expect(a.Turns()).To(HaveExactElements(
			HaveField("Changes.Commits", HaveExactElements(HaveField("Patch", ContainSubstring("agent.txt")))),
			HaveField("Changes.Commits", HaveExactElements(HaveField("Patch", ContainSubstring("late.txt"))))))
	})

	It("says so where a workspace has gone, or where a redaction has taken the commits", func(ctx SpecContext) {
		r := greetingRepo(GinkgoTB())
		rec, _ := record(ctx, r, replay.RecorderConfig{Redact: replay.RedactValues("s3cr3t")})
		rec.Add(replay.SourceAgent, "prompt", map[string]any{"text": "one"})
		r.commitFile("x", "the s3cr3t")
		rec.Add(replay.SourceAgent, "prompt", map[string]any{"text": "two"})
		Expect(rec.Warnings()).To(HaveExactElements("the commits of turn 1: a commit has something in it that is redacted"))
		Expect(os.Rename(r.path(".git"), r.path("git"))).To(Succeed())
		rec.Add(replay.SourceAgent, "prompt", map[string]any{"text": "three"})
		Expect(rec.Close(ctx, nil)).To(Succeed())
		Expect(rec.Warnings()).To(ContainElement(ContainSubstring("is not a git repository")))
	})

	It("tells of a run without a turn that it has none", func(ctx SpecContext) {
		r := greetingRepo(GinkgoTB())
		rec, path := record(ctx, r, replay.RecorderConfig{})
		Expect(rec.Close(ctx, nil)).To(Succeed())
		_, err := replay.New(replay.Entries(GinkgoT(), path))
		Expect(err).To(MatchError(ContainSubstring("there is no turn")))
	})

	It("says why commits cannot be made again, and the run goes on", func(ctx SpecContext) {
		r := greetingRepo(GinkgoTB())
		rec, path := record(ctx, r, replay.RecorderConfig{})
		rec.Add(replay.SourceAgent, "prompt", map[string]any{"text": "go"})
		r.git("checkout", "-q", "-b", "side")
		r.commitFile("a.txt", "a")
		r.git("checkout", "-q", "main")
		r.commitFile("b.txt", "b")
		r.move(r.gitIn("merge", "commit-tree", "HEAD^{tree}", "-p", "HEAD", "-p", "side"))
		rec.Add(replay.SourceAgent, "summary", map[string]any{"durationMs": 1, "status": 0, "tokens": replay.Usage{}})
		Expect(rec.Close(ctx, nil)).To(Succeed())
		Expect(rec.Warnings()).To(HaveExactElements(HavePrefix("the commits of turn 1: ")))
		a := agentOf(replay.Entries(GinkgoT(), path))
		Expect(a.Turns()[0].Changes.Unavailable).To(ContainSubstring("not in a line"))
	})

	It("tells of a run in which nothing was committed, which a replay holds against the files that it begins with", func(ctx SpecContext) {
		r := greetingRepo(GinkgoTB())
		rec, path := record(ctx, r, replay.RecorderConfig{})
		rec.Add(replay.SourceAgent, "prompt", map[string]any{"text": "go"})
		rec.Add(replay.SourceAgent, "summary", map[string]any{"durationMs": 1, "status": 0, "tokens": replay.Usage{}})
		Expect(rec.Close(ctx, nil)).To(Succeed())
		a := replay.ForTest(GinkgoT(), replay.Entries(GinkgoT(), path), replay.WithRunner(r.runner))
		Expect(a.Turns()[0].Changes).To(Equal(&replay.Changes{Baseline: &replay.Revision{Commit: greetingBase, Tree: "56ef077a153a22a552fb32288831d723bbc3e26c"}, Commits: []replay.Commit{}}))
		r.commitFile("z.txt", "z")
		_, err := a.Play(ctx, replay.Request{Prompt: "go", Cwd: r.dir})
		Expect(err).To(HaveField("Kind", replay.KindBaseline))
	})

	It("is refused a folder that is no work tree", func(ctx SpecContext) {
		path := filepath.Join(GinkgoT().TempDir(), "run.jsonl")
		_, err := replay.NewRecorder(ctx, path, replay.RecorderConfig{Dir: GinkgoT().TempDir()})
		Expect(err).To(ofCode(replay.Process))
		Expect(path + ".partial").NotTo(BeAnExistingFile())
	})
})
