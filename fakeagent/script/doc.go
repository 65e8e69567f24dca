// Package script is the script language: what an agent does in one turn, as Go values and as JSON.
//
// A [Script] is a list of steps. In Go they are made by the builders ([Say], [Write], [BashRun], …) or, where a step has more
// settings than its builder takes, as a literal of its type ([SayStep], [ToolStep], …). In JSON a step is an object with exactly
// one key:
//
//	{"steps": [
//	  {"think": "add a constant, then check it"},
//	  {"write": {"path": "src/a.ts", "content": "export const a = 1;\n"}},
//	  {"bash": {"command": "cat src/a.ts", "run": true}},
//	  {"say": "done"}
//	]}
//
// A bare array of steps is a script too. [Parse] is strict: an error says which step, which key, and what would be right.
// [Schema] describes the language as a JSON Schema.
//
// A [File] gives an agent its script for each turn, as .fake-agent.json does. Its steps may have placeholders, such as {{input}} for the
// turn's prompt: see [TemplateStep].
package script
