// Drives kerf with clients/typescript, as its README shows. Prints one line a check.
const { ExitError, Kerf, KerfError, LostError, Server, ServerError, TurnError, text } = await import(process.env.CLIENTS + "/typescript/index.js");

const report = (name, ...facts) => console.log(name + ":", ...facts.map((f) => JSON.stringify(f)));
const raises = async (kind, promise) => {
  try {
    await promise;
  } catch (e) {
    if (e instanceof kind) return e;
    throw e;
  }
  throw new Error("no " + kind.name);
};

const options = { skipGitCheck: true, sandbox: "workspace-write", approval: "never" };
const thread = new Kerf().start(options);
const turn = await thread.run("make the file");
report("run", turn.text, turn.items.map((i) => i.type), turn.usage.input_tokens, turn.usage.output_tokens);

const kinds = [];
for await (const event of thread.stream("wait")) {
  kinds.push(event.type);
  if (event.type === "item.started") break;
}
report("left", kinds);
report("resumed", (await new Kerf().resume(thread.id, options).run("are you back?")).text);

const stop = new AbortController();
const aborted = (async () => {
  for await (const event of thread.stream("wait again", { signal: stop.signal })) {
    if (event.type === "item.started") stop.abort();
  }
})();
report("aborted", (await raises(Error, aborted)).name);
const failed = await raises(TurnError, thread.run("fail"));
report("failed", failed.message.includes("no such thing"), failed.turn.usage);
const schema = { type: "object", properties: { status: { type: "string" } }, required: ["status"] };
report("schema", (await thread.run("as JSON", { schema })).text);
const usage = await raises(ExitError, new Kerf({ config: ["modle=1"] }).start().run("x"));
report("usage", usage.code, usage.message.includes("modle"));
report("no session", (await raises(ExitError, new Kerf().resume("nosuch", options).run("x"))).code);
await raises(KerfError, new Kerf({ program: "/nosuch/kerf" }).start().run("x"));

const server = new Server();
const session = await server.open({ settings: { cwd: process.cwd(), approval_policy: "untrusted" } });
report("server", (await server.hello()).version, (await server.sessions()).map((s) => s.id === session.id));
const first = [];
await session.say("touch it");
for await (const event of session) {
  first.push(event);
  const { msg } = event;
  if (msg.type === "approval_requested") {
    await session.answer(msg.approval.id, "once");
    await session.answer(msg.approval.id, "deny"); // too late
  }
  if (msg.type === "turn_completed") {
    report("served", text(msg.last_message));
    break;
  }
}
const other = new Server();
await session.say("and again");
for await (const event of session) {
  first.push(event);
  if (event.msg.type === "turn_completed") {
    report("reached", text(event.msg.last_message));
    break;
  }
}
const numbers = first.map((e) => e.seq);
report("in order", numbers.every((n, i) => i === 0 || n > numbers[i - 1]));
const second = await other.attach(session.id, 0);
const seen = new Set();
for await (const event of second) {
  seen.add(event.seq);
  if (event.seq >= numbers.at(-1)) break;
}
second.close();
report("same", first.filter((e) => !seen.has(e.seq) && e.msg.type !== "item_delta"));
const join = await server.attach(session.id);
await server.end(session.id);
let last;
for await (const event of join) last = event.msg.type;
report("ended", last, await server.sessions());
report("refused", (await raises(ServerError, server.attach("nosuch"))).code);
await raises(KerfError, server.submit("x", { type: "user_input", items: [{ text: "x".repeat(65 << 20) }] }));
report("bad op", (await raises(ServerError, server.submit("x", { type: "nosuch" }))).code);
await server.stop();
report("gone", (await raises(LostError, new Server("/nosuch").hello())).message.includes("kerf serve --detach starts one"));
