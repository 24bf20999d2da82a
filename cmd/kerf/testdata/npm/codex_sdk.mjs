// Drives kerf with the official Codex SDK, as its documentation shows.
// Environment: KERF, BASE_URL, REPO, IMAGE. Prints one JSON line a check.
import { Codex } from "@openai/codex-sdk";

const { KERF, BASE_URL, REPO, IMAGE, HOME, KERF_HOME, PATH } = process.env;
const report = (check, facts) => console.log(JSON.stringify({ check, ...facts }));
const codex = new Codex({
  codexPathOverride: KERF,
  baseUrl: BASE_URL,
  apiKey: "sdk-key",
  env: { HOME, KERF_HOME, PATH, EXTRA: "passed" },
  config: { show_raw_agent_reasoning: true, sandbox_workspace_write: { network_access: false } },
});
const options = {
  workingDirectory: REPO,
  skipGitRepoCheck: true,
  model: "gpt-sdk",
  sandboxMode: "workspace-write",
  approvalPolicy: "never",
  modelReasoningEffort: "high",
  networkAccessEnabled: false,
  webSearchEnabled: false,
};

const thread = codex.startThread(options);
const first = await thread.run("make the file");
report("run", { final: first.finalResponse, items: first.items.map((i) => i.type), usage: first.usage, id: typeof thread.id });

const second = await thread.run("and again");
report("same thread", { final: second.finalResponse });

const { events } = await thread.runStreamed("stream it");
const kinds = [];
for await (const e of events) kinds.push(e.type + (e.item ? ":" + e.item.type : ""));
report("streamed", { kinds });

const schema = { type: "object", properties: { status: { type: "string" } }, required: ["status"], additionalProperties: false };
const structured = await thread.run("as JSON", { outputSchema: schema });
report("structured", { status: JSON.parse(structured.finalResponse).status });

const pictured = await thread.run([{ type: "text", text: "look" }, { type: "text", text: "closely" }, { type: "local_image", path: IMAGE }]);
report("image", { final: pictured.finalResponse });

const resumed = await codex.resumeThread(thread.id, options).run("resumed");
report("resumed", { final: resumed.finalResponse });

const stop = new AbortController();
const other = codex.startThread(options);
try {
  const { events } = await other.runStreamed("sleep", { signal: stop.signal });
  for await (const e of events) if (e.type === "item.started" && e.item.type === "command_execution") stop.abort();
  report("abort", { aborted: false });
} catch (e) {
  report("abort", { aborted: e.name === "AbortError" });
}

try {
  await codex.startThread({ ...options, skipGitRepoCheck: false }).run("outside git");
  report("git check", { refused: false });
} catch (e) {
  report("git check", { refused: /git|trust/i.test(e.message) });
}
