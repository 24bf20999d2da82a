// Drives kerf acp with the official ACP SDK. Environment: KERF, REPO. Prints one
// JSON line a check.
import { spawn } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { Readable, Writable } from "node:stream";
import * as acp from "@agentclientprotocol/sdk";

const { KERF, REPO } = process.env;
const report = (check, facts) => console.log(JSON.stringify({ check, ...facts }));
const child = spawn(KERF, ["acp"], { stdio: ["pipe", "pipe", "inherit"], cwd: REPO });
const updates = [];
const asked = [];
const terminals = new Map();
let waiting;
const client = {
  async sessionUpdate({ update }) {
    updates.push(update);
    if (waiting && waiting.want(update)) { waiting.done(); waiting = undefined; }
  },
  async requestPermission({ toolCall, options }) {
    asked.push({ title: toolCall.title, kinds: options.map((o) => o.kind), diff: (toolCall.content ?? []).some((c) => c.type === "diff") });
    return { outcome: { outcome: "selected", optionId: options.find((o) => o.kind === "allow_once").optionId } };
  },
  async readTextFile({ path }) { return { content: readFileSync(path, "utf8") }; },
  async writeTextFile({ path, content }) { writeFileSync(path, content); client.wrote = path; return {}; },
  async createTerminal({ command, args, cwd }) {
    const id = "term-" + (terminals.size + 1);
    const p = spawn(command, args, { cwd });
    const t = { p, output: "", exit: new Promise((ok) => p.on("exit", (code, signal) => ok({ exitCode: code, signal }))) };
    p.stdout.on("data", (d) => (t.output += d));
    p.stderr.on("data", (d) => (t.output += d));
    terminals.set(id, t);
    return { terminalId: id };
  },
  async terminalOutput({ terminalId }) { return { output: terminals.get(terminalId).output, truncated: false }; },
  async waitForTerminalExit({ terminalId }) { return terminals.get(terminalId).exit; },
  async killTerminal({ terminalId }) { terminals.get(terminalId).p.kill(); return {}; },
  async releaseTerminal({ terminalId }) { terminals.get(terminalId).p.kill(); return {}; },
};
const on = (ctxOf) => ({ params }) => ctxOf(params);
const app = acp.client({ name: "judge" })
  .onNotification(acp.methods.client.session.update, on(client.sessionUpdate))
  .onRequest(acp.methods.client.session.requestPermission, on(client.requestPermission))
  .onRequest(acp.methods.client.fs.readTextFile, on(client.readTextFile))
  .onRequest(acp.methods.client.fs.writeTextFile, on(client.writeTextFile))
  .onRequest(acp.methods.client.terminal.create, on(client.createTerminal))
  .onRequest(acp.methods.client.terminal.output, on(client.terminalOutput))
  .onRequest(acp.methods.client.terminal.waitForExit, on(client.waitForTerminalExit))
  .onRequest(acp.methods.client.terminal.kill, on(client.killTerminal))
  .onRequest(acp.methods.client.terminal.release, on(client.releaseTerminal));
const { agent } = app.connect(acp.ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout)));
const call = (method) => (params) => agent.request(method, params);
const m = acp.methods.agent;
const conn = {
  initialize: call(m.initialize), newSession: call(m.session.new), prompt: call(m.session.prompt), setSessionMode: call(m.session.setMode),
  listSessions: call(m.session.list), closeSession: call(m.session.close), loadSession: call(m.session.load),
  cancel: (params) => agent.notify(m.session.cancel, params),
};
const say = (sessionId, text) => conn.prompt({ sessionId, prompt: [{ type: "text", text }] });
const until = (want) => updates.some(want) ? Promise.resolve() : new Promise((done) => { waiting = { want, done }; });

const hello = await conn.initialize({
  protocolVersion: acp.PROTOCOL_VERSION,
  clientInfo: { name: "judge", version: "1" },
  clientCapabilities: { fs: { readTextFile: true, writeTextFile: true }, terminal: true },
});
report("initialize", { name: hello.agentInfo.name, load: hello.agentCapabilities.loadSession, version: hello.protocolVersion });

const { sessionId, modes } = await conn.newSession({ cwd: REPO, mcpServers: [] });
report("new", { modes: modes.availableModes.map((m) => m.id), current: modes.currentModeId });

const edited = await say(sessionId, "edit f.txt");
report("edit", { stop: edited.stopReason, asked: asked.length, diff: asked[0]?.diff, wrote: client.wrote === REPO + "/f.txt",
  file: readFileSync(REPO + "/f.txt", "utf8"), plan: updates.some((u) => u.sessionUpdate === "plan") });

await conn.setSessionMode({ sessionId, modeId: "full" });
await until((u) => u.sessionUpdate === "current_mode_update" && u.currentModeId === "full");
const ran = await say(sessionId, "run it");
report("terminal", { stop: ran.stopReason, terminals: terminals.size,
  shown: updates.some((u) => (u.content ?? []).some?.((c) => c.type === "terminal")) });

const sleeping = say(sessionId, "sleep");
await until((u) => u.sessionUpdate === "tool_call" && (u.title ?? "").includes("sleep 600"));
await conn.cancel({ sessionId });
report("cancel", { stop: (await sleeping).stopReason });

const undone = await say(sessionId, "/undo");
report("undo", { stop: undone.stopReason, file: readFileSync(REPO + "/f.txt", "utf8") });

await conn.setSessionMode({ sessionId, modeId: "plan" });
const planned = await say(sessionId, "plan it");
report("plan mode", { stop: planned.stopReason });

const listed = await conn.listSessions({ cwd: REPO });
report("list", { found: listed.sessions.some((s) => s.sessionId === sessionId && s.title) });

await conn.closeSession?.({ sessionId });
updates.length = 0;
await conn.loadSession({ sessionId, cwd: REPO, mcpServers: [] });
report("load", { users: updates.filter((u) => u.sessionUpdate === "user_message_chunk").length > 0,
  calls: updates.filter((u) => u.sessionUpdate === "tool_call").length > 0 });
child.on("exit", (code) => { report("leave", { code }); process.exit(0); });
child.kill("SIGTERM");
