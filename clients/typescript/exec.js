// Turns as processes: kerf exec --json.
import { spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

// How long a program that was told to end may take before it is killed, in milliseconds;
// Kerf's own bound is 10 s.
const grace = 12_000;
// How much of a program's error stream is kept, in characters.
const tail = 8 << 10;

export class KerfError extends Error {
  constructor(message) {
    super(message);
    this.name = new.target.name;
  }
}

export class TurnError extends KerfError {
  constructor(message, turn) {
    super(message);
    this.turn = turn;
  }
}

export class ExitError extends KerfError {
  constructor(code, message) {
    super(message || `kerf ended with code ${code}`);
    this.code = code;
  }
}

export class Kerf {
  constructor(options = {}) {
    this.program = options.program ?? "kerf";
    this.env = options.env;
    this.config = options.config ?? [];
  }

  start(options = {}) {
    return new Thread(this, options, null, null);
  }

  resume(id, options = {}) {
    return new Thread(this, options, id, null);
  }

  fork(id, options = {}) {
    return new Thread(this, options, null, id);
  }
}

export class Thread {
  #kerf;
  #options;
  #fork;
  #before = Promise.resolve(); // the turn before

  constructor(kerf, options, id, fork) {
    this.#kerf = kerf;
    this.#options = options;
    this.id = id;
    this.#fork = fork;
  }

  async run(prompt, options = {}) {
    const turn = newTurn();
    for await (const event of this.#events(prompt, options, turn)) void event;
    return turn;
  }

  stream(prompt, options = {}) {
    return this.#events(prompt, options, newTurn());
  }

  async *#events(prompt, options, turn) {
    const before = this.#before;
    let done;
    this.#before = new Promise((ok) => (done = ok));
    let scratch, program;
    try {
      await before;
      options.signal?.throwIfAborted();
      if (options.schema !== undefined) {
        scratch = await mkdtemp(join(tmpdir(), "kerf-"));
        await writeFile(join(scratch, "schema.json"), JSON.stringify(options.schema));
      }
      program = new Program(this.#kerf, this.#args(options, scratch), prompt, options.signal);
      let failure = null;
      for await (const line of program.lines) {
        if (line.trim() === "") continue;
        const event = parse(line);
        if (event.type === "thread.started") this.id = event.thread_id;
        if (event.type === "turn.failed") failure = event.error.message;
        hear(turn, event);
        yield event;
      }
      const code = await program.over;
      if (options.signal?.aborted && (failure !== null || code !== 0)) throw options.signal.reason;
      if (failure !== null) throw new TurnError(failure, turn);
      if (code !== 0) throw new ExitError(code, program.said.trim());
    } finally {
      await program?.end();
      if (scratch !== undefined) await rm(scratch, { recursive: true, force: true });
      done();
    }
  }

  #args(options, scratch) {
    const o = this.#options;
    const args = this.#kerf.config.flatMap((setting) => ["--config", setting]);
    args.push("exec", "--json");
    const add = (flag, value) => value !== undefined && args.push(flag, String(value));
    add("--cd", o.cwd);
    add("--model", o.model);
    add("--sandbox", o.sandbox);
    add("--ask-for-approval", o.approval);
    add("--max-turns", o.maxTurns);
    for (const dir of o.addDirs ?? []) add("--add-dir", dir);
    if (o.effort !== undefined) add("--config", "model_reasoning_effort=" + JSON.stringify(o.effort));
    if (o.timeout !== undefined) add("--timeout", `${Math.ceil(o.timeout)}ms`);
    if (o.skipGitCheck) args.push("--skip-git-repo-check");
    if (o.ephemeral) args.push("--ephemeral");
    for (const path of options.images ?? []) {
      add("--image", /[,"\n]/.test(path) ? `"${path.replaceAll('"', '""')}"` : path); // the flag takes a list
    }
    if (scratch !== undefined) add("--output-schema", join(scratch, "schema.json"));
    if (this.id !== null) args.push("resume", "--", this.id);
    else if (this.#fork !== null) args.push("fork", "--", this.#fork);
    args.push("-"); // the prompt goes through the standard input, so that no text is taken for a flag
    return args;
  }
}

// Program is one kerf exec.
class Program {
  said = ""; // the end of what it says of errors
  #child;
  #ended = false;

  constructor(kerf, args, prompt, signal) {
    const child = (this.#child = spawn(kerf.program, args, { env: kerf.env ?? process.env, stdio: "pipe" }));
    child.stderr.setEncoding("utf8").on("data", (part) => (this.said = (this.said + part).slice(-tail)));
    child.stdin.on("error", () => {}); // it ended before it read all
    child.stdin.end(prompt);
    const abort = () => void this.end();
    signal?.addEventListener("abort", abort, { once: true });
    this.over = new Promise((ok, fail) => {
      child.once("error", (e) => fail(new KerfError(`start ${kerf.program}: ${e.message}`)));
      child.once("close", (code) => {
        this.#ended = true;
        signal?.removeEventListener("abort", abort);
        ok(code);
      });
    });
    this.over.catch(() => (this.#ended = true)); // told to who waits for it
    this.lines = createInterface({ input: child.stdout, crlfDelay: Infinity });
  }

  // end interrupts it if it still runs, and kills it if it does not end in time.
  async end() {
    if (this.#ended) return;
    this.#child.kill("SIGINT");
    this.#child.stdout.resume(); // what it still says must not hold it up
    const timer = setTimeout(() => this.#child.kill("SIGKILL"), grace);
    await this.over.catch(() => {});
    clearTimeout(timer);
  }
}

function newTurn() {
  return { text: "", items: [], usage: null };
}

function hear(turn, event) {
  if (event.type === "item.completed") {
    turn.items.push(event.item);
    if (event.item.type === "agent_message") turn.text = event.item.text;
  }
  if (event.type === "turn.completed") turn.usage = event.usage;
}

function parse(line) {
  let event;
  try {
    event = JSON.parse(line);
  } catch {}
  if (typeof event?.type !== "string") throw new KerfError(`kerf printed a line that is no event: ${line.slice(0, 200)}`);
  return event;
}
