# Drives kerf with clients/python, as its README shows. Prints one line a check.
import asyncio
import contextlib
import os
import threading
import types
import typing
import warnings

import kerf
import kerf.events
import kerf.words


def fits(value, kind, module):
    """Whether a value has the type that the generated module says, with no member beyond it."""
    if isinstance(kind, str):
        kind = eval(kind, vars(module))
    if isinstance(kind, typing.ForwardRef):
        kind = eval(kind.__forward_arg__, vars(module))
    if isinstance(kind, str):
        return fits(value, kind, module)
    origin, args = typing.get_origin(kind), typing.get_args(kind)
    if kind is typing.Any:
        return True
    if origin in (typing.Union, types.UnionType):
        return any(fits(value, a, module) for a in args)
    if origin is typing.Literal:
        return value in args
    if origin is list:
        return isinstance(value, list) and all(fits(v, args[0], module) for v in value)
    if origin is dict:
        return isinstance(value, dict) and all(fits(v, args[1], module) for v in value.values())
    if origin is tuple:
        return isinstance(value, list) and len(value) == len(args) and all(map(lambda v, a: fits(v, a, module), value, args))
    if origin is typing.NotRequired:
        return fits(value, args[0], module)
    if typing.is_typeddict(kind):
        hints = typing.get_type_hints(kind, include_extras=True)
        return (isinstance(value, dict) and kind.__required_keys__ <= value.keys() <= hints.keys()
                and all(fits(v, hints[k], module) for k, v in value.items()))
    return isinstance(value, (int, float)) if kind is float else type(value) is (type(None) if kind is None else kind)


def checked(events, kind, module):
    for event in events:
        assert fits(event, kind, module), event
        yield event


def raises(kind, do):
    try:
        do()
    except kind as e:
        return e
    raise AssertionError(f"no {kind.__name__}")


def running():
    return [e for e in threading.enumerate() if e is not threading.main_thread()]


def turns():
    thread = kerf.Kerf().start(skip_git_check=True, sandbox="workspace-write", approval="never")
    turn = thread.run("make the file")
    print("run:", turn.text, [i["type"] for i in turn.items], turn.usage["input_tokens"], turn.usage["output_tokens"])

    kinds = []
    with contextlib.closing(thread.stream("wait")) as events:
        for event in checked(events, "Event", kerf.events):
            kinds.append(event["type"])
            if event["type"] == "item.started":
                break
    print("left:", kinds, running())
    print("resumed:", kerf.Kerf().resume(thread.id, skip_git_check=True).run("are you back?").text)

    async def cancelled():
        started = asyncio.Event()

        async def watch():
            async with contextlib.aclosing(thread.astream("wait again")) as events:
                async for event in events:
                    if event["type"] == "item.started":
                        started.set()

        task = asyncio.create_task(watch())
        await started.wait()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        return task.cancelled()

    print("cancelled:", asyncio.run(cancelled()))
    failed = raises(kerf.TurnError, lambda: thread.run("fail"))
    print("failed:", "no such thing" in str(failed), failed.turn.usage)
    schema = {"type": "object", "properties": {"status": {"type": "string"}}, "required": ["status"]}
    print("schema:", asyncio.run(thread.arun("as JSON", schema=schema)).text)
    usage = raises(kerf.ExitError, lambda: kerf.Kerf(config=["modle=1"]).start().run("x"))
    print("usage:", usage.code, "modle" in str(usage))
    print("no session:", raises(kerf.ExitError, lambda: kerf.Kerf().resume("nosuch", skip_git_check=True).run("x")).code)
    raises(FileNotFoundError, lambda: kerf.Kerf(program="/nosuch/kerf").start().run("x"))


def serve():
    server = kerf.Server()
    first = []
    with server.open(settings={"approval_policy": "untrusted", "cwd": os.getcwd()}) as session:
        print("server:", server.hello()["version"], [s["id"] == session.id for s in server.sessions()])
        session.say("touch it")
        for event in checked(session, "Event", kerf.words):
            first.append(event)
            msg = event["msg"]
            if msg["type"] == "approval_requested":
                session.answer(msg["approval"]["id"], "once")
                session.answer(msg["approval"]["id"], "deny")  # too late
            if msg["type"] == "turn_completed":
                print("served:", kerf.text(msg["last_message"]))
                break
        session._line.connection.shutdown(2)  # the connection breaks
        session.say("and again")
        for event in session:
            first.append(event)
            if event["msg"]["type"] == "turn_completed":
                print("reached:", kerf.text(event["msg"]["last_message"]))
                break
        numbers = [e["seq"] for e in first]
        print("in order:", numbers == sorted(set(numbers)))
        with server.attach(session.id, since=0) as second:
            seen = set()
            for event in checked(second, "Event", kerf.words):
                seen.add(event["seq"])
                if event["seq"] >= numbers[-1]:
                    break
            print("same:", not [e for e in first if e["seq"] not in seen and e["msg"]["type"] != "item_delta"])
        join = server.attach(session.id)
        server.end(session.id)
        print("ended:", [e["msg"]["type"] for e in join][-1], server.sessions())
    print("refused:", raises(kerf.ServerError, lambda: server.attach("nosuch")).code)
    raises(kerf.KerfError, lambda: server.submit("x", {"type": "user_input", "items": [{"text": "x" * (65 << 20)}]}))
    print("bad op:", raises(kerf.ServerError, lambda: server.submit("x", {"type": "nosuch"})).code)
    # One that was away while its session ended and was opened again missed events: numbers begin anew.
    away = server.open(settings={"cwd": os.getcwd()})
    away._line.connection.shutdown(2)
    server.end(away.id)
    with server.open(resume=away.id):
        print("another life:", raises(kerf.ServerError, lambda: list(away)).code)
    away.close()
    server.stop()

warnings.simplefilter("error")
for module in (kerf.events, kerf.words):
    for value in list(vars(module).values()):
        if typing.is_typeddict(value):
            typing.get_type_hints(value, include_extras=True)
turns()
serve()
print("gone:", "kerf serve --detach starts one" in str(raises(kerf.LostError, kerf.Server("/nosuch").hello)))
