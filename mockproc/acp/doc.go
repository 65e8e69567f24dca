// Package acp speaks the Agent Client Protocol, version 1, on both sides: [Serve] is the agent's side of a connection, for any
// [fakeagent.Provider]; [NewProvider] is the client's side, which makes a provider of a process that speaks the protocol.
//
// # What an event becomes
//
//	content.delta              agent_message_chunk, agent_thought_chunk
//	item.started, .completed   tool_call, tool_call_update
//	turn.plan.updated          plan
//	thread.token-usage.updated usage_update
//	request.opened             session/request_permission, whose outcome is the answer
//	turn.completed             the answer to session/prompt: a stop reason or an error, with the script's code or -32603
//
// and back. What has no counterpart is dropped, and the [Transcript] says so.
//
// A tool call carries its name, its detail and its error in _meta under the key "understudy", so that a timeline comes out on the other
// side as it went in. Of an agent that does not send this, [NewProvider] goes by kind, title, content, rawInput and rawOutput.
//
// # The client's tools
//
// Where the client offers fs or terminals, write, edit and bash steps go through it; see [Client].
package acp
