// Package pipe has pipes, connections and listeners in memory, for processes that are played and for HTTP servers without a port.
//
// They behave as those of the operating system do, with its errors, for hosts that were written for these. And they run on virtual time:
// in a bubble of testing/synctest whoever waits here is durably blocked. [io.Pipe] and [net.Pipe] make the clock of a bubble stand still as
// soon as there are two writers, because the second one waits for a lock; os pipes and sockets do so in any case.
//
//	stdin, host := pipe.New(pipe.OSSize) // what the host writes, the process reads
//
// An HTTP server needs a [Listener], and its client the listener's dialer:
//
//	l := pipe.Listen(pipe.OSSize)
//	go server.Serve(l)
//	client := &http.Client{Transport: &http.Transport{DialContext: l.DialContext}}
//
// All methods may be called from several goroutines at once. Nothing here starts a goroutine. A pipe or a listener that is used in a bubble
// belongs to it: nobody outside may use it as well.
package pipe
