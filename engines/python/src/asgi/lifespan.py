# The `lifespan` scope of ASGI 3: what an application does before its first request and after its last, and the state that
# it gives to each request. One that raises where it is asked first knows nothing of it, and is served without. That is logged:
# an application that knows of it may have raised for another reason.
import asyncio

from .said import NOTICE, say


class Failed(Exception):
    """The application can't begin (lifespan.startup.failed): why."""


class Lifespan:
    def __init__(self, worker):
        self._worker = worker
        self._asked = asyncio.Queue()
        self._answered = asyncio.Event()
        self._task = None
        self._failed = None
        self._is_there = False
        # It has asked what there is to do.
        self._has_asked = False
        self._phase = "startup"
        self._state = {}
        # None: it has no lifespan.
        self.state = None

    async def start(self):
        self._asked.put_nowait({"type": "lifespan.startup"})
        self._task = asyncio.get_running_loop().create_task(self._run())
        answered = asyncio.ensure_future(self._answered.wait())
        await asyncio.wait({answered, self._task}, return_when=asyncio.FIRST_COMPLETED)
        answered.cancel()
        if self._failed is not None:
            raise Failed("the application has failed to start (lifespan.startup.failed)" + self._failed)
        if self._is_there:
            self.state = self._state

    async def _run(self):
        scope = {
            "type": "lifespan",
            "asgi": {"version": "3.0", "spec_version": "2.0"},
            "state": self._state,
        }
        try:
            await self._worker.application(scope, self._receive, self._send)
        except BaseException as error:
            if self._failed is not None:
                # It has said so itself.
                return
            if self._phase == "startup" and not self._answered.is_set() and not self._has_asked:
                say(NOTICE, "the application is served without lifespan events: " + self._worker.sentence(error))
                return
            self._worker.tell(f"lifespan.{self._phase}: {self._worker.traceback(error)}")
        finally:
            self._answered.set()

    async def _receive(self):
        self._has_asked = True
        return await self._asked.get()

    async def _send(self, message):
        kind = message["type"]
        if kind == f"lifespan.{self._phase}.complete":
            self._is_there = True
        elif kind == f"lifespan.{self._phase}.failed":
            text = str(message.get("message") or "").rstrip()
            if text:
                self._worker.tell(text + "\n")
            self._failed = ": " + text.split("\n")[-1] if text else ""
        else:
            raise RuntimeError(f"a message of the type {kind!r} is none of lifespan's {self._phase}")
        self._answered.set()

    async def stop(self):
        if not self._is_there or self._task.done():
            return
        self._phase = "shutdown"
        self._answered.clear()
        self._asked.put_nowait({"type": "lifespan.shutdown"})
        await self._answered.wait()
        if self._failed is not None:
            self._worker.tell("the application has failed to end (lifespan.shutdown.failed)" + self._failed + "\n")
        await asyncio.wait({self._task}, timeout=0.2)
