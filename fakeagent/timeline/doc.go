// Package timeline holds what an agent did, in the canonical form that hosts store and show: items, the rows that carry
// them, snapshots of a projection, and how a turn ended.
//
// An [Item] is one of the struct types of this package; [ToolCall] holds a [Detail], which is another closed set. Both have
// one JSON form: [AppendJSON] writes it and [DecodeItem] reads it. A type that this version does not know becomes a [Raw]
// and is written back as it came.
//
// A [Log] stores rows and never changes one. A [Timeline] is a snapshot of its projection, in which the rows of one tool call,
// of one streamed message or of one plugin row are a single item.
package timeline
