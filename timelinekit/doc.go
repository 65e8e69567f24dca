// Package timelinekit is a small agent host for tests: it keeps agents, runs their turns on a provider, and stores what they did
// as timelines. What a plugin, a hook or a timeline card meets in a real host, it meets here, without a login and always the same.
//
//	func TestAgentSaysDone(t *testing.T) {
//		host := timelinekit.NewHost(t)
//		run := host.RunFakeAgentTurn(t.Context(), script.New(script.Write("notes.md", "hi"), script.Say("done")))
//		if run.Ending.Kind != timeline.Completed {
//			t.Errorf("the turn failed:\n%s", run)
//		}
//	}
//
// The first argument may be a *testing.T, Ginkgo's GinkgoT() or anything else with the methods of [T].
//
// A [Plugin] with hooks is registered by [Host.Use]; [NewPlugin] makes one of functions. Its event hooks run beside the agent, as in a
// real host, so a test has a barrier before it looks at what they did: [Host.HooksSettled]. A timeline card is a plugin row, which a hook
// appends by [Host.AppendRow]; [Host.RowsOf] is made for Eventually, [PluginRows] for a timeline that one has.
//
// What the user adds while a turn runs goes through [Turn.Steer], or [Host.Steer] where the test wants the turn that has it.
//
// All of it runs on virtual time in a bubble; see the package bubble below this one.
//
// Methods without an error result fail the test when something goes wrong. Like t.Fatalf they belong on the test's own goroutine;
// each has a twin that returns an error, [Host.SendTurn] and [Turn.Await] above all, for every other one. Waiting methods whose
// context has no deadline give up after 30 seconds, and print the timeline and the step that the agent is in.
package timelinekit
