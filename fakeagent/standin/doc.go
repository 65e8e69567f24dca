// Package standin is a chat back end for the tests of whoever is in front of one: a server that keeps sessions, transcripts and model providers, and
// streams replies frame by frame. A reply is a script, as everywhere in this kit.
//
// A [Server] answers the routes of a platform, below /api/v1/ on any origin, and those of the agents' runtime, below the URL that the platform hands
// out; or, with [ProfileLocal], those of a runtime on a developer's own machine. It is an [http.Handler], an in-memory client, a [http.RoundTripper]
// or a loopback server. None of that needs a socket but the last, and all others work on virtual time.
package standin
