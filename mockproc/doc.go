// Package mockproc has agents that are processes, for the tests of hosts that start one: a host that runs a command such as my-agent --acp,
// writes to its stdin, reads its stdout, and ends it when it is done. The agents play scripts. They speak the Agent Client Protocol.
//
// There are three ways to have one, for three kinds of hosts.
//
// A host that can be given a process gets a [Mock]. It has pipes in memory, a PID, signals and an exit, and is no process: it costs nothing,
// it runs on virtual time, and thousands of them run in one test.
//
//	func TestMyHost(t *testing.T) {
//		agent := mockproc.Start(t, mockproc.Scenario{})
//		host := NewMyHost(agent.Stdin(), agent.Stdout())
//		…
//		<-agent.Exited() // agent.ExitCode() is 0
//	}
//
// A host that looks for a command gets an executable of that name, which [Install] puts first on PATH. It is the test binary itself.
//
//	mockproc.Install(t, "my-agent", mockproc.Scenario{})
//	host := NewMyHost("my-agent", "--acp", "--stdio")
//
// A host that is written for [Process] takes real commands by [Exec], and mocks in its tests. It needs no branch for them.
//
// A test that wants the agent and no host of its own drives one by acp.NewProvider, of the package acp below this one, with the host of
// package timelinekit.
//
// # Scenarios
//
// A [Scenario] says what a process does: what it plays, how long its first answers take, and how it ends. [Named] has those that come with
// the kit. Times are milliseconds from the prompt's arrival.
//
//	happy       a thought at 400, a plan at 900, a tool call from 1400 to 2400, twelve pieces of a message from 2700 on, an answer at 3900; then exit 0
//	slow        the same, three times as slow
//	error       as happy up to the tool call, which fails at 2400; then exit 1, and the prompt is never answered
//	rate_limit  an error with the code 429 at 2400, and nothing before it; then exit 1
//	scripted    what each prompt carries, as fakeagent.Scripted
//
// Those in the folder seed/ are the same in another profile: as in the mock that this one goes back to, with its quirks, and with a permission that
// happy and slow ask for. The zero Scenario is happy.
//
// One's own is a file, which [ReadScenario] reads; or it is made in Go, by [Turns] above all. This agent meets a rate limit with each prompt,
// and succeeds when the host tries again:
//
//	{"name":   "flaky",
//	 "faults": ["earlyUpdate"],
//	 "routes": [{"when": {"attempt": 1}, "steps": [{"fail": {"message": "rate limit", "code": 429}}]}],
//	 "turns":  [{"steps": [{"say": "done"}]}]}
//
// "Again" is in the same session: turns and attempts count in each session anew, and so in each process.
//
// # How a process ends
//
//   - When its stdin ends it exits with 0 at once, also in the middle of a turn, whose prompt it does not answer.
//   - A signal ends it at once. The exit code is 128+n then, as a shell has it, and [Process.ExitSignal] is the signal.
//   - The step exit ends it as it says, and afterTurn after its turn: with 0, or with 1 after one that failed. One that was canceled does not
//     end it.
//   - At the end of the test a mock that still runs is killed, and that is a violation.
//
// First its output ends, then the exit is seen. What it wrote before can be read afterwards, and nothing is written after it.
//
// What the host of a mock did wrong, such as a request that it left unanswered when its prompt was over, is a violation too: [Mock.Violations] has them, and those that nobody
// has asked for fail the test at its end, in one message with what was said.
//
// # Permissions
//
// The step approval asks the host: session/request_permission offers allow-once, allow-always and reject-once, of the kinds allow_once, allow_always
// and reject_once. The host answers {"outcome":{"outcome":"selected","optionId":"allow-once"}}, or {"outcome":{"outcome":"cancelled"}}, which ends
// the turn. What it answers is what happens.
//
// The step question asks by elicitation/create where the host offers elicitation.form, and else by session/request_permission, too: its
// options are the answers then, answer-1 and on. See package acp.
//
// # The seed
//
// With a Seed in [WithAgent] a process varies: where its texts are cut, and by up to a tenth how long its waits take. The same seed and the same
// input make the same output, byte for byte and, on virtual time, to the nanosecond. Its PID and the ids of its sessions tell the seed.
//
// # What is not faked
//
// A mock cannot be stopped by SIGSTOP, has no children, no memory to run out of, and no entry in the system's table of processes:
// [IsProcessAlive] knows its PID, and nobody must signal it. It buffers without limit, unless [PipeSize] says otherwise. On Windows no signal but
// os.Kill can be sent to a real process, and a script cannot end one by a signal. Files and commands of a script are real.
package mockproc
