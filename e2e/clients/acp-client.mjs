// Drives an agent that speaks the Agent Client Protocol on its stdio, with the TypeScript SDK of the protocol's authors, and prints what it
// sees: an object with an event, one a line.
//
//   node acp-client.mjs [flags] -- AGENT...
//
//   --cwd DIR            the session's folder
//   --prompt TEXT        a prompt; may be given several times
//   --fs                 offers files, which it keeps in memory
//   --terminal           offers terminals, in which every command prints what it is and succeeds
//   --permission ANSWER  allow-once, allow-always, reject or cancel
//   --cancel-after N     cancels the turn when it has seen N updates
//   --until-exit         leaves stdin open until the agent has gone by itself
//
// Events: wire (a line that went over the pipes, and who wrote it), initialize, session, update, request (of the agent, with the answer),
// response, error (that the agent answered), lost (the connection ended first), dropped (updates that the SDK did not hand over), exit. But for wire, an
// event is what the SDK handed to this program. There are no times in it, so the same agent is always told of in the same way.
import { spawn } from "node:child_process";
import { Readable, Transform, Writable } from "node:stream";
import { setImmediate as tick } from "node:timers/promises";
import { parseArgs } from "node:util";
import * as acp from "@agentclientprotocol/sdk";

const { values: flags, positionals: [command, ...args] } = parseArgs({
  allowPositionals: true,
  options: {
    cwd: { type: "string", default: process.cwd() },
    prompt: { type: "string", multiple: true, default: [] },
    fs: { type: "boolean", default: false },
    terminal: { type: "boolean", default: false },
    permission: { type: "string", default: "allow-once" },
    "cancel-after": { type: "string", default: "0" },
    "until-exit": { type: "boolean", default: false },
  },
});

const tell = (event) => process.stdout.write(JSON.stringify(event) + "\n");

const agent = spawn(command, args, { cwd: flags.cwd, stdio: ["pipe", "pipe", "inherit"] });
agent.on("error", (error) => {
  console.error(`cannot start ${command}: ${error.message}`);
  process.exit(2);
});
agent.stdin.on("error", () => {}); // the agent may go before it has read all
process.on("SIGTERM", () => {
  agent.kill("SIGKILL");
  process.exit(143);
});
const exited = new Promise((resolve) => agent.on("close", (code, signal) => resolve({ code, signal })));

// The SDK runs its handlers some time after it has read a message, may settle a prompt before the updates that came first, and drops at the end of
// the stream what it has not handled yet. None of that is the agent's doing. So messages are counted on the wire, and what comes after
// updates waits until the SDK has handed them over.
let passed = 0; // updates
let handed = 0;
let open = 0; // requests of the agent that were not answered yet
async function until(done) {
  for (let round = 0; !done() && round < 1000; round++) await tick();
}
const handedOver = () => until(() => handed >= passed);
const idle = () => until(() => handed >= passed && open === 0);

function count(from, line) {
  let message;
  try {
    message = Object(JSON.parse(line));
  } catch {
    return; // the SDK has a word to say about it
  }
  if (from === "client" && !("method" in message)) open--;
  if (from === "agent" && "method" in message && "id" in message) open++;
  if (from === "agent" && message.method === "session/update") passed++;
}

// tap passes bytes on, and tells of each line.
function tap(from, end = async () => {}) {
  let rest = Buffer.alloc(0);
  return new Transform({
    transform(chunk, _, next) {
      rest = Buffer.concat([rest, chunk]);
      for (let at = rest.indexOf(10); at >= 0; at = rest.indexOf(10)) {
        const line = rest.toString("utf8", 0, at);
        rest = rest.subarray(at + 1);
        tell({ event: "wire", from, line });
        count(from, line);
      }
      next(null, chunk);
    },
    flush(next) {
      if (rest.length > 0) tell({ event: "wire", from, line: rest.toString("utf8"), unfinished: true });
      end().then(() => next());
    },
  });
}

const files = new Map();
const terminals = new Map();

// request answers the agent with what f returns or throws, and tells of both.
function request(method, f) {
  app.onRequest(method, async ({ params }) => {
    await handedOver();
    try {
      const result = f(params);
      tell({ event: "request", method, params, result });
      return result;
    } catch (error) {
      tell({ event: "request", method, params, error: error.message });
      throw error;
    }
  });
}

function permission({ options }) {
  const kinds = { "allow-once": "allow_once", "allow-always": "allow_always", reject: "reject_once" };
  if (flags.permission === "cancel") return { outcome: { outcome: "cancelled" } };
  const option = options.find((o) => o.kind === kinds[flags.permission]);
  if (!option) throw new acp.RequestError(-32602, `there is no option to ${flags.permission}`);
  return { outcome: { outcome: "selected", optionId: option.optionId } };
}

function stored(path) {
  if (!files.has(path)) throw new acp.RequestError(-32002, `there is no file ${path}`);
  return files.get(path);
}

function terminal(id) {
  if (!terminals.has(id)) throw new acp.RequestError(-32002, `there is no terminal ${id}`);
  return terminals.get(id);
}

const { client, agent: server } = acp.methods;
const app = acp.client({ name: "acp-client" });
app.onNotification(client.session.update, async ({ params }) => {
  tell({ event: "update", update: params.update });
  handed++;
  if (handed === Number(flags["cancel-after"])) await connection.agent.notify(server.session.cancel, { sessionId: params.sessionId });
});
request(client.session.requestPermission, permission);
request(client.fs.readTextFile, ({ path }) => ({ content: stored(path) }));
request(client.fs.writeTextFile, ({ path, content }) => {
  files.set(path, content);
  return {};
});
request(client.terminal.create, ({ command, args = [] }) => {
  const terminalId = `terminal-${terminals.size + 1}`;
  terminals.set(terminalId, `ran ${[command, ...args].join(" ")}\n`);
  return { terminalId };
});
request(client.terminal.output, ({ terminalId }) => ({ output: terminal(terminalId), truncated: false, exitStatus: { exitCode: 0 } }));
request(client.terminal.waitForExit, ({ terminalId }) => ({ exitCode: terminal(terminalId) && 0 }));
request(client.terminal.kill, ({ terminalId }) => terminal(terminalId) && {});
request(client.terminal.release, ({ terminalId }) => terminals.delete(terminalId) && {});

// The SDK reads what the agent says through a tap that keeps the end back, and writes through one.
const toAgent = tap("client");
toAgent.pipe(agent.stdin);
const connection = app.connect(acp.ndJsonStream(Writable.toWeb(toAgent), Readable.toWeb(agent.stdout.pipe(tap("agent", handedOver)))));

async function call(event, method, params) {
  const result = await connection.agent.request(method, params);
  await handedOver();
  tell({ event, result });
  return result;
}

try {
  await call("initialize", server.initialize, {
    protocolVersion: acp.PROTOCOL_VERSION,
    clientCapabilities: { fs: { readTextFile: flags.fs, writeTextFile: flags.fs }, terminal: flags.terminal },
    clientInfo: { name: "acp-client", version: "1.0.0" },
  });
  const session = await call("session", server.session.new, { cwd: flags.cwd, mcpServers: [] });
  for (const text of flags.prompt) {
    await call("response", server.session.prompt, { sessionId: session.sessionId, prompt: [{ type: "text", text }] });
  }
} catch (error) {
  await handedOver();
  tell(error instanceof acp.RequestError ? { event: "error", code: error.code, message: error.message } : { event: "lost" });
}
await idle(); // the agent may end the turn before the client has answered all that it asked for
if (!flags["until-exit"]) agent.stdin.end();
const { code, signal } = await exited;
await handedOver();
if (handed < passed) tell({ event: "dropped", updates: passed - handed });
tell({ event: "exit", code, signal });
