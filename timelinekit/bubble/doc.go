// Package bubble runs Ginkgo specs and plain tests on virtual time, in a bubble of testing/synctest: a scenario of twelve seconds takes
// milliseconds, and takes twelve seconds to the nanosecond.
//
//	func TestMyHost(t *testing.T) {
//		bubble.Suite(t)
//		RegisterFailHandler(Fail)
//		RunSpecs(t, "My host")
//	}
//
//	var _ = Describe("a reminder", bubble.InBubble, func() { … })
//
// Tests without Ginkgo say [Test] in place of synctest.Test.
//
// A bubble that goes wrong fails its spec or test, and says what waits where. The others run on. It may be a deadlock, where all in the
// bubble wait for each other; goroutines that are left at the end; or a stall, where virtual time stands still for ten seconds of real
// time, because something waits for a lock, a socket, a process or a channel from outside.
//
// # What belongs in a bubble
//
// Channels, timers, contexts and wait groups belong to the bubble that they are made in. Go ends the program when they are used outside,
// and no package can prevent that. So decorate the container whose BeforeEach makes them, and keep none in a variable of the package.
// The other way round, something made outside may be used inside, but virtual time stands still while somebody waits for it.
//
// Files are fine, with the times of the real world on them. Timeouts of Ginkgo count real time. What a spec does with By and AddReportEntry
// has the time of its bubble, which begins with the year 2000.
//
// # Labels
//
// Code that runs in a bubble can say what it is doing, by labels of its goroutines (runtime/pprof). It need not know this package for that.
//
//   - understudy.doing is a line for people, such as `agent-1-turn-1 is in step 2 {"hold":"gate"}`. When the bubble goes wrong, the lines
//     of all its goroutines are printed, equal ones once.
//   - understudy.external is set while a goroutine waits for something real on purpose, such as a shell command. While any goroutine of the
//     bubble has it, with whatever value, standing still is no stall.
//
// A goroutine inherits the labels of the one that starts it. So start none that stays while understudy.external is set.
// Labels are found by their goroutine's stack: before Go 1.27, those of a goroutine in the same place, but in another bubble, are taken too.
package bubble
