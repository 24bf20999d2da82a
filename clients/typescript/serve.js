// Live sessions: kerf serve, over its unix socket.
import { readFile } from "node:fs/promises";
import { connect } from "node:net";
import { homedir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { KerfError } from "./exec.js";

const version = 1;
const limit = 64 << 20; // of a message, in bytes

export class ServerError extends KerfError {
  constructor(code, message) {
    super(message);
    this.code = code;
  }
}

export class LostError extends KerfError {}

export function text(value) {
  if (value === undefined) return "";
  return typeof value === "string" ? value : Buffer.from(value.b64, "base64").toString("utf8");
}

// Each call and each session has a connection of its own, so that none holds up another.
export class Server {
  constructor(home) {
    this.home = home ?? (process.env.KERF_HOME || join(homedir(), ".kerf"));
  }

  async hello() {
    const line = await this.dial();
    line.close();
    return line.hello;
  }

  async sessions() {
    return (await this.#once("kerf/sessions", {})).sessions ?? [];
  }

  open(options = {}) {
    return this.#follow("kerf/open", { options });
  }

  attach(id, since) {
    return this.#follow("kerf/attach", since === undefined ? { session: id, join: true } : { session: id, since });
  }

  async submit(id, op, submission = "") {
    await this.#once("kerf/submit", { session: id, id: submission, op });
  }

  async end(id) {
    await this.#once("kerf/end", { session: id });
  }

  async stop() {
    await this.#once("kerf/stop", {});
  }

  async #once(method, params) {
    const line = await this.dial();
    try {
      return await line.call(method, params);
    } finally {
      line.close();
    }
  }

  async #follow(method, params) {
    const line = await this.dial();
    try {
      return new Session(this, line, await line.call(method, params));
    } catch (e) {
      line.close();
      throw e;
    }
  }

  async dial() {
    let told, socket;
    try {
      told = JSON.parse(await readFile(join(this.home, "run", "serve.json"), "utf8"));
      socket = connect(told.socket);
      await new Promise((ok, fail) => socket.once("connect", ok).once("error", fail));
    } catch (e) {
      socket?.destroy();
      throw new LostError(e.code === "ENOENT"
        ? `no kerf serve is running in ${this.home}; kerf serve --detach starts one`
        : `no kerf serve answers in ${this.home}: ${e.message}`);
    }
    const line = new Line(socket);
    try {
      line.hello = await line.call("kerf/hello", { version, token: told.token });
      return line;
    } catch (e) {
      line.close();
      throw e;
    }
  }
}

export class Session {
  #server;
  #line;
  #closed = false;
  #life; // names this opening of the session, to which the numbers belong
  #turn = Promise.resolve(); // calls of next come one after the other

  constructor(server, line, attached) {
    this.#server = server;
    this.#line = line;
    this.id = text(attached.session);
    this.running = text(attached.running);
    this.last = 0;
    this.#life = attached.life ?? "";
  }

  submit(op, submission) {
    return this.#server.submit(this.id, op, submission);
  }

  say(prompt, { queue = false } = {}) {
    return this.submit({ type: "user_input", items: [{ text: prompt }], queue });
  }

  interrupt() {
    return this.submit({ type: "interrupt" });
  }

  answer(approval, decision = "once", options = {}) {
    return this.submit({ type: "answer", approval, decision, ...options });
  }

  close() {
    this.#closed = true;
    this.#line.close();
  }

  [Symbol.asyncIterator]() {
    return this;
  }

  next() {
    const mine = this.#turn.then(() => this.#next());
    this.#turn = mine.then(() => {}, () => {});
    return mine;
  }

  async #next() {
    while (!this.#closed) {
      let frame;
      try {
        frame = await this.#line.read();
      } catch (e) {
        if (this.#closed) break;
        if (!(e instanceof LostError)) throw e;
        await this.#again();
        continue;
      }
      if (frame.method === "kerf/left") this.close();
      if (frame.method === "kerf/event" && frame.params.event.seq > this.last) {
        this.last = frame.params.event.seq;
        return { done: false, value: frame.params.event };
      }
    }
    return { done: true, value: undefined };
  }

  // again connects anew.
  async #again() {
    this.#line.close();
    for (const wait of [50, 100, 200, 400, 800, 1600, 0]) {
      try {
        const line = await this.#server.dial();
        try {
          await line.call("kerf/attach", { session: this.id, since: this.last, life: this.#life });
        } catch (e) {
          line.close();
          throw e;
        }
        this.#line = line;
        if (this.#closed) line.close();
        return;
      } catch (e) {
        if (!(e instanceof LostError) || wait === 0) throw e;
      }
      await sleep(wait);
    }
  }
}

// Line is one connection.
class Line {
  #socket;
  #parts = []; // of a line that is not whole yet
  #frames = []; // that nobody took
  #waiting = null; // who takes the next one
  #lost = null;
  #count = 0;
  #answers = new Map();

  constructor(socket) {
    this.#socket = socket;
    socket.on("data", (data) => this.#hear(data));
    socket.on("error", (e) => this.#end(e));
    socket.on("close", () => this.#end());
  }

  close() {
    this.#socket.destroy();
    this.#end();
  }

  call(method, params) {
    const id = ++this.#count;
    const message = Buffer.from(JSON.stringify({ jsonrpc: "2.0", id, method, params }) + "\n");
    if (message.length > limit) return Promise.reject(new KerfError(`the message has ${message.length} bytes, more than ${limit}`));
    if (this.#lost) return Promise.reject(this.#lost);
    return new Promise((ok, fail) => {
      this.#answers.set(id, { ok, fail });
      this.#socket.write(message);
    });
  }

  read() {
    if (this.#frames.length > 0) {
      const frame = this.#frames.shift();
      if (this.#frames.length < few) this.#socket.resume();
      return Promise.resolve(frame);
    }
    if (this.#lost) return Promise.reject(this.#lost);
    return new Promise((ok, fail) => (this.#waiting = { ok, fail }));
  }

  #hear(data) {
    for (let at = 0; at < data.length; ) {
      const end = data.indexOf(10, at);
      if (end < 0) {
        this.#parts.push(data.subarray(at));
        return;
      }
      this.#parts.push(data.subarray(at, end));
      const line = this.#parts.length === 1 ? this.#parts[0] : Buffer.concat(this.#parts);
      this.#parts = [];
      this.#take(JSON.parse(line.toString("utf8")));
      at = end + 1;
    }
  }

  #take(frame) {
    if (frame.method === undefined) {
      const id = frame.id ?? this.#count; // an error without an id is that of the last request
      const answer = this.#answers.get(id);
      this.#answers.delete(id);
      if (frame.error) answer?.fail(new ServerError(frame.error.code, frame.error.message));
      else answer?.ok(frame.result ?? {});
    } else if (this.#waiting) {
      const { ok } = this.#waiting;
      this.#waiting = null;
      ok(frame);
    } else {
      this.#frames.push(frame);
      if (this.#frames.length >= many) this.#socket.pause(); // until some are taken
    }
  }

  #end(e) {
    this.#lost ??= new LostError("the connection to kerf serve broke" + (e ? `: ${e.message}` : ""));
    this.#waiting?.fail(this.#lost);
    this.#waiting = null;
    for (const { fail } of this.#answers.values()) fail(this.#lost);
    this.#answers.clear();
  }
}

// How many events wait at most before no more are taken from the connection, and how few
// must be left to go on.
const many = 1024;
const few = 256;
