// Package fakeagent plays a coding agent that costs nothing, needs no login and does the same thing every time. A [Script] from
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
// # What is not faked
//
// The agent thinks nothing: without a script it repeats the prompt. Files and shell commands are real.
//
// [Script]: https://pkg.go.dev/github.com/understudy-go/understudy/fakeagent/script#Script
package fakeagent
