// A program of somebody else's, in strict TypeScript. tsc judges it; where an error is expected
// and none comes, that is one.
import { ExitError, Kerf, KerfError, Server, ServerError, Session, text, TurnError } from "kerf-client";
import type { Item, ThreadEvent, Turn, Usage, words } from "kerf-client";
import type { Event } from "kerf-client/events";
import type { Body, Msg, Words } from "kerf-client/words";

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const same: Same<ThreadEvent, Event> = true;

export async function turns(signal: AbortSignal): Promise<string[]> {
  const kerf = new Kerf({ program: "/bin/kerf", env: { HOME: "/" }, config: ['model="m"'] });
  const thread = kerf.start({ cwd: "/src", addDirs: ["/a"], sandbox: "read-only", approval: "plan", timeout: 1000 });
  const turn: Turn = await thread.run("x", { images: ["a.png"], schema: { type: "object" }, signal });
  const used: number | undefined = turn.usage?.output_tokens;
  const said: string[] = [turn.text, String(used), thread.id ?? "no session yet"];
  for await (const event of thread.stream("y")) {
    switch (event.type) {
      case "thread.started":
        said.push(event.thread_id);
        break;
      case "turn.failed":
        said.push(event.error.message);
        break;
      case "turn.completed": {
        const all: Usage = event.usage;
        said.push(String(all.input_tokens));
        break;
      }
      case "item.completed":
        said.push(one(event.item));
    }
  }
  return said;
}

function one(item: Item): string {
  switch (item.type) {
    case "agent_message":
      return item.text;
    case "command_execution":
      return item.command + item.aggregated_output;
    case "file_change":
      return item.changes.map((c) => (typeof c.path === "string" ? c.path : c.path.b64)).join();
    default:
      return item.id;
  }
}

export async function session(): Promise<void> {
  const server = new Server("/home");
  const list: words.Session[] = await server.sessions();
  const live: Session = list[0] ? await server.attach(text(list[0].id), 7) : await server.open({ last: true });
  await live.submit({ type: "configure", settings: { sandbox_mode: "read-only" } }, "s1");
  for await (const event of live) {
    const number: number = event.seq;
    const body = shown(event.msg);
    if (body?.type === "command") console.log(number, text(body.command), text(body.cwd), body.exit_code ?? "runs");
    if (event.msg.type === "approval_requested") {
      const { id, command, question } = event.msg.approval;
      await live.answer(id, command ? "once" : "deny", question ? { content: {} } : {});
    }
    if (event.msg.type === "turn_failed") throw new Error(text(event.msg.error.message));
  }
}

function shown(msg: Msg): Body | undefined {
  return msg.type === "item_completed" ? msg.item.body : undefined;
}

export function kind(e: unknown): number | string | null {
  if (e instanceof TurnError) return e.turn.text;
  if (e instanceof ExitError || e instanceof ServerError) return e.code;
  return e instanceof KerfError ? e.message : null;
}

// What is wrong is told when it is written.
export async function wrong(server: Server): Promise<void> {
  // @ts-expect-error there is no such sandbox
  new Kerf().start({ sandbox: "none" });
  // @ts-expect-error there is no such option
  new Kerf().start({ sandbx: "read-only" });
  const turn = await new Kerf().start().run("x");
  // @ts-expect-error it may not be known
  turn.usage.output_tokens;
  // @ts-expect-error an item has no such member, whatever it is
  turn.items[0]?.nosuch;
  // @ts-expect-error there is no such op
  await server.submit("id", { type: "nosuch" });
  // @ts-expect-error the text of an input is text
  await server.submit("id", { type: "user_input", items: [{ text: 7 }] });
  // @ts-expect-error there is no such decision
  await new Server().attach("x").then((s) => s.answer("a", "perhaps"));
  // @ts-expect-error a text may be bytes
  const title: string = (await server.sessions())[0]!.title;
  // @ts-expect-error no event is of this type
  const event: Words = { seq: 1, time: "t", msg: { type: "nosuch" } };
  // @ts-expect-error a session is opened by its server
  new Session();
  void [same, title, event];
}
