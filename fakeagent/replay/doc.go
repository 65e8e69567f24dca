// Package replay plays a journal, which is what a host has recorded of a run, as an agent: the events of its turns come in their order, its commits
// are made anew in a real git work tree, recorded steers go on as they did, and a recorded failure fails again. Where the host has drifted from the
// journal, a [*Divergence] says at which turn, what was recorded, what came, and where the two first differ.
//
// # Journals
//
// A journal is JSON, an object a line, or one array of them. Each entry has a "kind", such as "prompt" or "tool", and a "source", which says who was
// observed. A "prompt" of an agent begins a turn. The first line may be a header, as [Recorder] writes one:
//
//	{"kind":"journal","schema":1,"normalisers":["timestamp","path"],"cwd":"/work/project"}
//
// Without one it is a journal of the host outpost, whose form this is: its kinds and members mean here what they mean there. Members and kinds that
// nobody knows are left alone; those that are known must be as they should be, and [New] names the entry that is not. [Read] says in which line and at
// which byte a file is damaged, and never reads a part of it in silence.
//
// # A turn
//
// [Agent] is a [fakeagent.Provider], for a host that calls one, and for mock processes by [Agent.Config]. A host that runs turns by itself calls
// [Agent.Play] or [Agent.PlayTurn]. Either way the prompt is compared with the recorded one after both went through the same [Normaliser] rules; the
// events are played; then the commits are made, each with its identities and dates, so that their ids are those of the journal.
//
// Requests for approval and questions of a recorded provider are emitted with the answers that they had; nobody waits for the host's. Paths, ids
// and times in what the agent did stay as they were recorded.
//
// The commits are made by git itself, with nobody's hooks and configuration. What the user has in the work tree is never written over: a commit that
// cannot be made is taken back, and the commits before it stay.
//
// As events of a provider, what an agent says is a content.delta, a tool call an item, a usage a thread.token-usage.updated, and a hand-over to another
// agent a model.rerouted. [Report] counts what has no such event.
package replay
