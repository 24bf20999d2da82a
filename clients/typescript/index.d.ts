import type { Event as ThreadEvent, Item, Usage } from "./events.js";
import type * as words from "./words.js";

export type { ThreadEvent, Item, Usage, words };

/** What went wrong with Kerf. */
export class KerfError extends Error {}

/** The turn failed; the message says why. turn has what was done until then. */
export class TurnError extends KerfError {
  readonly turn: Turn;
}

/** There was no turn. code is 1, or 2 for usage and configuration; null where a signal ended the program. */
export class ExitError extends KerfError {
  readonly code: number | null;
}

export interface Turn {
  /** The last message. */
  text: string;
  items: Item[];
  /** null before the turn is over. */
  usage: Usage | null;
}

export interface KerfOptions {
  /** The path of kerf; the one on PATH if left out. */
  program?: string;
  /** The whole environment of the program; that of this process if left out. */
  env?: Record<string, string>;
  /** Settings that win over the files: "key.path=value", values in TOML. */
  config?: string[];
}

/** How the turns of a thread run. What is left out is left to the configuration. */
export interface ThreadOptions {
  cwd?: string;
  addDirs?: string[];
  model?: string;
  effort?: string;
  sandbox?: "read-only" | "workspace-write" | "danger-full-access";
  /** What would be asked is refused, since nobody can be asked. */
  approval?: "untrusted" | "on-request" | "never" | "auto-edit" | "plan";
  skipGitCheck?: boolean;
  ephemeral?: boolean;
  maxTurns?: number;
  /** Bounds a turn, in milliseconds. */
  timeout?: number;
}

export interface TurnOptions {
  /** Paths of image files. */
  images?: string[];
  /** The JSON schema that the last message must follow. */
  schema?: unknown;
  /** Interrupts the turn. */
  signal?: AbortSignal;
}

/** Where the program is. */
export class Kerf {
  constructor(options?: KerfOptions);
  /** A thread whose first turn begins a new session. */
  start(options?: ThreadOptions): Thread;
  /** A thread that goes on with a session, named by its id or the beginning of it. */
  resume(id: string, options?: ThreadOptions): Thread;
  /** A thread that begins a new session with the history of another. */
  fork(id: string, options?: ThreadOptions): Thread;
}

/** One session, whose turns run one after the other. */
export class Thread {
  private constructor();
  /** Known once the first turn has begun. */
  readonly id: string | null;
  /** Runs a turn to its end. Rejects with a TurnError, an ExitError, or the reason of the signal. */
  run(prompt: string, options?: TurnOptions): Promise<Turn>;
  /** Runs a turn and yields its events as they come. Leaving the loop interrupts it. */
  stream(prompt: string, options?: TurnOptions): AsyncGenerator<ThreadEvent, void, undefined>;
}

/** The server refused. The codes are those of doc/serve.md. */
export class ServerError extends KerfError {
  readonly code: number;
}

/** No server runs, or the connection to it broke. */
export class LostError extends KerfError {}

/** A text as a string; bytes that are not UTF-8 are replaced. A text that was left out is empty. */
export function text(value: words.Text | undefined): string;

/** The server of a Kerf home: that of KERF_HOME, or ~/.kerf, if left out. */
export class Server {
  constructor(home?: string);
  hello(): Promise<words.HelloResult>;
  /** The live sessions, the oldest first. */
  sessions(): Promise<words.Session[]>;
  /** Opens a session, or joins the live one that options mean with resume or last. */
  open(options?: words.OpenOptions): Promise<Session>;
  /** Attaches to a live session: behind the event since, or, without, at its running turn. */
  attach(id: string, since?: number): Promise<Session>;
  submit(id: string, op: words.Op, submission?: string): Promise<void>;
  /** Ends a live session for all; its record stays. */
  end(id: string): Promise<void>;
  /** Ends the server. What runs is interrupted. */
  stop(): Promise<void>;
}

/**
 * A live session, and its events. When the connection breaks it is made again, and goes on
 * behind the last event. Leaving the loop keeps the session attached, close() leaves it
 * running in the server.
 */
export class Session implements AsyncIterableIterator<words.Event> {
  private constructor();
  readonly id: string;
  /** The turn that ran when it was attached, or "". */
  readonly running: string;
  /** The number of the newest event that was taken. */
  readonly last: number;
  submit(op: words.Op, submission?: string): Promise<void>;
  /** Starts a turn, or joins the running one; with queue it waits for that one to be over. */
  say(prompt: string, options?: { queue?: boolean }): Promise<void>;
  interrupt(): Promise<void>;
  /** Answers a question. The first answer counts, whoever gives it. */
  answer(
    approval: words.Text,
    decision?: "once" | "session" | "always" | "deny" | "abort",
    options?: { words?: string; content?: unknown },
  ): Promise<void>;
  close(): void;
  next(): Promise<IteratorResult<words.Event>>;
  [Symbol.asyncIterator](): this;
}
