// Package acp speaks the Agent Client Protocol, version 1, on both sides: [Serve] is the agent's side of a connection, for any
// [fakeagent.Provider]; [NewProvider] is the client's side, which makes a provider of a process that speaks the protocol.
//
// # What an event becomes
//
//	content.delta              agent_message_chunk, agent_thought_chunk
//	item.started, .completed   tool_call, tool_call_update
//	turn.plan.updated          plan
//	thread.token-usage.updated usage_update
//	task.started, .completed   tool_call, tool_call_update of the kind think
//	request.opened             session/request_permission, whose outcome is the answer
//	user-input.requested       elicitation/create, whose content is the answer; or an agent_message_chunk, if it does not block the turn
//	turn.completed             the answer to session/prompt: a stop reason or an error, with the script's code or -32603
//
// and back. What has no counterpart is dropped, and the [Transcript] says so.
//
// A tool call carries its name, its detail and its error in _meta under the key "understudy", so that a timeline comes out on the other
// side as it went in; so do tasks, and questions that are text. Of an agent that does not send this, [NewProvider] goes by kind, title, content, rawInput and rawOutput.
//
// # Questions
//
// A question that blocks its turn is a form with a property for each of its parts, if the client offers elicitation.form. It may fill in
// any of them; if it declines the form, or sends it away, the turn goes on without answers.
//
// Any other client is asked one part after the other by session/request_permission, for a tool call of the kind other that stands for the
// part. Its options are the answers, answer-1 and on, of the kind allow_once: of several answers the user can give one. A part that has
// no options is said, and gets no answer. The outcome cancelled interrupts the turn; an option that was not offered, or an error, is no answer.
//
// What is not answered when it is over, because its turn is, or because somebody else was faster, is withdrawn by $/cancel_request.
//
// # The client's tools
//
// Where the client offers fs or terminals, write, edit and bash steps go through it; see [Client].
package acp
