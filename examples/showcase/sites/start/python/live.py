# An ASGI application: a page, and a WebSocket that tells everybody who looks at it what each of them says, and how
# many there are. All are served by one event loop, so what it knows is in its own memory.
import asyncio
import json
import os
import sys
import time
from pathlib import Path

FILES = {
    "": ("live.html", b"text/html; charset=utf-8"),
    "/live.js": ("live.js", b"text/javascript; charset=utf-8"),
}
LONGEST = 200
MOST = 50

here = Path(__file__).parent
# What is to be said to each visitor, by the visitor; and what was said last.
visitors = {}
said = []


async def app(scope, receive, send):
    if scope["type"] == "websocket":
        await talk(receive, send)
    elif scope["type"] == "http":
        await answer(scope, send)
    else:
        raise RuntimeError(f"nothing is done for {scope['type']}")


async def answer(scope, send):
    path = scope["path"][len(scope["root_path"]) :]
    status, kind = 200, b"text/html; charset=utf-8"
    if path == "/status":
        version = sys.version.split()[0]
        page = f"<p>{len(visitors)} open WebSockets in worker {os.getpid()}, Python {version}.</p>\n".encode()
    elif path in FILES:
        name, kind = FILES[path]
        page = (here / name).read_bytes().replace(b"@HOME@", scope["root_path"].encode())
    else:
        status, page = 404, b"<p>There is nothing here.</p>\n"
    fields = [(b"content-type", kind), (b"content-length", str(len(page)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": fields})
    await send({"type": "http.response.body", "body": page})


async def talk(receive, send):
    await receive()
    if len(visitors) >= MOST:
        await send({"type": "websocket.close", "code": 1013})
        return
    await send({"type": "websocket.accept"})
    # A visitor who does not read falls behind, and nobody waits for that.
    waiting = asyncio.Queue(maxsize=20)
    me = object()
    visitors[me] = waiting
    writer = asyncio.ensure_future(write(waiting, send))
    try:
        for line in said:
            waiting.put_nowait(line)
        tell_all(count=len(visitors))
        while (message := await receive())["type"] != "websocket.disconnect":
            words = (message.get("text") or "").strip()[:LONGEST]
            if words:
                line = {"words": words, "at": time.strftime("%H:%M:%S")}
                said[:] = [*said[-9:], line]
                tell_all(**line)
    finally:
        del visitors[me]
        writer.cancel()
        tell_all(count=len(visitors))


async def write(waiting, send):
    while True:
        try:
            line = await asyncio.wait_for(waiting.get(), 5)
        except asyncio.TimeoutError:
            line = {"clock": time.strftime("%H:%M:%S")}
        try:
            await send({"type": "websocket.send", "text": json.dumps(line)})
        except OSError:
            return


def tell_all(**line):
    for waiting in visitors.values():
        if not waiting.full():
            waiting.put_nowait(line)
