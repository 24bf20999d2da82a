// Holds each mode and decision of kerf acp with the official ACP SDK against each kind of
// tool. Environment: KERF, REPO, OUTSIDE. Prints one JSON line a mode and decision.
import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { Readable, Writable } from "node:stream";
import * as acp from "@agentclientprotocol/sdk";

const { KERF, REPO, OUTSIDE } = process.env;
const ways = [..."wepdcom"];
const text = (path) => (existsSync(path) ? readFileSync(path, "utf8") : null);

async function hold(mode, decision) {
  const dir = `${REPO}/${mode}-${decision}`;
  mkdirSync(dir);
  writeFileSync(`${dir}/e.txt`, "old\n");
  writeFileSync(`${dir}/read.txt`, "was read\n");
  rmSync(`${OUTSIDE}/o.txt`, { force: true });
  const child = spawn(KERF, ["acp"], { stdio: ["pipe", "pipe", "inherit"], cwd: dir });
  const asked = [], shown = {}, said = {};
  let cancel;
  const m = acp.methods;
  const app = acp.client({ name: "judge" })
    .onNotification(m.client.session.update, ({ params: { update: u } }) => {
      const diff = (u.content ?? []).find((c) => c.type === "diff");
      for (const c of u.content ?? []) if (c.type === "content") said[u.toolCallId] = (said[u.toolCallId] ?? "") + c.content.text;
      if (diff && u.status === "completed") shown[u.toolCallId] = [diff.newText, u.locations?.[0]?.line ?? null];
    })
    .onRequest(m.client.session.requestPermission, async ({ params: { toolCall, options } }) => {
      asked.push(toolCall.toolCallId);
      if (decision === "cancel") return { outcome: { outcome: "cancelled" } };
      if (decision === "stop") await cancel();
      const kind = decision === "reject" ? "reject_once" : "allow_once";
      return { outcome: { outcome: "selected", optionId: options.find((o) => o.kind === kind).optionId } };
    });
  const { agent } = app.connect(acp.ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout)));
  await agent.request(m.agent.initialize, { protocolVersion: acp.PROTOCOL_VERSION, clientInfo: { name: "judge", version: "1" },
    clientCapabilities: {} });
  const { sessionId } = await agent.request(m.agent.session.new, { cwd: dir, mcpServers: [] });
  cancel = () => agent.notify(m.agent.session.cancel, { sessionId });
  if (mode !== "begun") await agent.request(m.agent.session.setMode, { sessionId, modeId: mode });
  const { stopReason } = await agent.request(m.agent.session.prompt, { sessionId, prompt: [{ type: "text", text: "change them" }] });
  const over = new Promise((done) => child.on("exit", done));
  child.stdin.end();
  await over;
  const does = (id) =>
    id === "d" ? said.d?.includes("was read") : id === "m" ? said.m?.includes("the tool ran")
      : text(`${id === "o" ? OUTSIDE : dir}/${id}.txt`) === "new\n";
  console.log(JSON.stringify({ check: `${mode} ${decision}`, stop: stopReason,
    asked: asked.filter((id) => ways.includes(id)).join(""), done: ways.filter(does).join(""),
    shown: ways.filter((id) => shown[id]?.[0] === "new\n" && shown[id][1] === 1).join("") }));
}

for (const mode of ["begun", "ask", "auto-edit", "plan", "full"])
  for (const decision of ["allow", "reject", "cancel", "stop"]) await hold(mode, decision);
