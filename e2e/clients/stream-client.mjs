// Sends a message to a chat back end, reads the reply with npm's assistant-stream, and prints what that has made of it, as an object.
//
//   node stream-client.mjs LIBRARY [PART] < {"url": …, "token": …, "body": …}
//
// LIBRARY is assistant-stream or an alias of it. With PART it goes away as soon as the message has a part of that type with something in it.
//
// What it prints: message is the last that the accumulator gave, finish what the end of the stream said, which the accumulator does not keep, left
// whether it went away, and error why the reading ended, if it did not end well.
const [library, part] = process.argv.slice(2);
const { AssistantMessageAccumulator, UIMessageStreamDecoder } = await import(library);

let input = "";
for await (const text of process.stdin) input += text;
const { url, token, body } = JSON.parse(input);

const told = { left: false };
const leaving = new AbortController();
try {
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${token}` },
    body: JSON.stringify(body),
    signal: leaving.signal,
  });
  if (!response.ok) throw new Error(`${response.status}: ${await response.text()}`);
  const listen = new TransformStream({
    transform(chunk, controller) {
      if (chunk.type === "message-finish") told.finish = { finishReason: chunk.finishReason, usage: chunk.usage };
      controller.enqueue(chunk);
    },
  });
  const messages = response.body.pipeThrough(new UIMessageStreamDecoder()).pipeThrough(listen).pipeThrough(new AssistantMessageAccumulator());
  for await (const message of messages) {
    told.message = message;
    if (message.parts.some((p) => p.type === part && p.text)) {
      told.left = true;
      leaving.abort();
      break;
    }
  }
} catch (error) {
  if (!told.left) told.error = String(error);
}
process.stdout.write(JSON.stringify(told) + "\n");
