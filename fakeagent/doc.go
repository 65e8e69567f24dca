// Package fakeagent plays a coding agent that costs nothing, needs no login and does the same thing every time. A script of
// package script says what it does; what it does comes out as events.
//
// [New] makes an [Instance], which is a [Provider]: the interface a host drives an agent through. A host of one's own is tested by
// giving it one:
//
//	agent := fakeagent.NewT(t, fakeagent.Scripted())
//	agent.Subscribe(func(e event.Event) { … })
//	agent.StartSession(ctx, fakeagent.SessionConfig{ThreadID: "a", Cwd: t.TempDir()})
//	agent.SendTurn(ctx, fakeagent.TurnInput{ThreadID: "a", Text: `[{"say":"hello"}]`})
//
// Whoever tests hooks, timelines or plugins instead takes the host that package timelinekit has.
//
// # What a step becomes
//
//	say, think          an assistant message, reasoning
//	write, edit         a tool call named Write, Edit; its path is absolute
//	bash                a tool call named Bash; another exit code than 0 is its error "exit code N"
//	tool, mcp           a tool call of that name, or mcp__SERVER__TOOL
//	approval            the tool call that it is about, which settles after the answer
//	plan                a todo list
//	fail                an error; the turn ends as failed
//	exit                an error; the turn ends as failed, and behind it the session
//	usage, sleep, hold  no item
//	stderr, raw         no item; only a door that is a process can play them, see [Config.DoorSteps]
//
// A step that cannot be done, such as an edit of text that is not there, is a failed tool call, and the turn goes on: it still ends as
// completed. Only fail, exit, a script that does not parse, a step that this door cannot play and a refused command fail the turn. A call
// that an interrupt cuts short fails with the error "canceled".
//
// Tool calls have the ids t-TURN-N and messages a-TURN-N. TURN counts the agent's turns, N the calls and messages of one turn together, both
// from 1.
//
// # What is not faked
//
// The agent thinks nothing: without a script it repeats the prompt. Files and shell commands are real.
package fakeagent
