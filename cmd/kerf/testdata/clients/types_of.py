"""A program of somebody else's, in strict Python. pyright judges it; where an error is expected
and none comes, that is one."""

import contextlib
from typing import assert_type

import kerf
from kerf import events, words


def turns() -> list[str]:
    program = kerf.Kerf(program="/bin/kerf", env={"HOME": "/"}, config=['model="m"'])
    thread = program.start(cwd="/src", add_dirs=["/a"], sandbox="read-only", approval="plan", timeout=1.5)
    turn = thread.run("x", images=["a.png"], schema={"type": "object"})
    assert_type(turn.items, list[events.Item])
    said = [turn.text, str(turn.usage["output_tokens"]) if turn.usage else "", thread.id or "no session yet"]
    with contextlib.closing(thread.stream("y")) as stream:
        for event in stream:
            if event["type"] == "thread.started":
                said.append(event["thread_id"])
            elif event["type"] == "turn.failed":
                said.append(event["error"]["message"])
            elif event["type"] == "turn.completed":
                assert_type(event["usage"], events.Usage)
            elif event["type"] == "item.completed":
                said.append(one(event["item"]))
    return said


def one(item: events.Item) -> str:
    if item["type"] == "agent_message":
        return item["text"]
    if item["type"] == "command_execution":
        return item["command"] + item["aggregated_output"]
    return item["id"]


def session() -> None:
    server = kerf.Server("/home")
    live = server.sessions()
    assert_type(live, list[words.Session])
    with server.attach(kerf.text(live[0]["id"]), since=7) if live else server.open(last=True) as s:
        s.submit({"type": "configure", "settings": {"sandbox_mode": "read-only"}}, submission="s1")
        for event in s:
            assert_type(event["seq"], int)
            msg = event["msg"]
            if msg["type"] == "approval_requested":
                approval = msg["approval"]
                s.answer(approval["id"], "once" if "command" in approval else "deny")
            elif msg["type"] == "item_completed" and msg["item"]["body"]["type"] == "command":
                print(kerf.text(msg["item"]["body"]["command"]), kerf.text(msg["item"]["body"].get("cwd")))
            elif msg["type"] == "turn_failed":
                raise RuntimeError(kerf.text(msg["error"]["message"]))


def kind(e: Exception) -> int | str | None:
    if isinstance(e, kerf.TurnError):
        return e.turn.text
    if isinstance(e, kerf.ExitError | kerf.ServerError):
        return e.code
    return str(e) if isinstance(e, kerf.KerfError) else None


def wrong(server: kerf.Server, turn: kerf.Turn, approval: words.Approval) -> None:
    """What is wrong is told when it is written."""
    kerf.Kerf().start(sandbox="none")  # pyright: ignore[reportArgumentType]
    kerf.Kerf().start(sandbx="read-only")  # pyright: ignore[reportCallIssue]
    turn.usage["output_tokens"]  # pyright: ignore[reportOptionalSubscript]
    turn.items[0]["nosuch"]  # pyright: ignore[reportGeneralTypeIssues]
    server.submit("id", {"type": "nosuch"})  # pyright: ignore[reportArgumentType]
    server.submit("id", {"type": "user_input", "items": [{"text": 7}]})  # pyright: ignore[reportArgumentType]
    server.attach("x").answer("a", "perhaps")  # pyright: ignore[reportArgumentType]
    server.open(sandbox="read-only")  # pyright: ignore[reportCallIssue]
    approval["agent"]  # pyright: ignore[reportTypedDictNotRequiredAccess]
    title: str = server.sessions()[0]["title"]  # pyright: ignore[reportAssignmentType]
    print(title)
