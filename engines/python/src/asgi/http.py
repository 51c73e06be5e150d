# A request and its answer: the `http` scope of ASGI 3.
import asyncio
import os

from . import wire

# Bytes of a request's body that wait for the application; beyond them no more is read.
WAITING = 64 << 10
# Bytes of a file that are read at once.
PIECE = 256 << 10

EXTENSIONS = {"http.response.early_hint": {}, "http.response.pathsend": {}, "http.response.trailers": {}}


class ClientGone(OSError):
    """Nobody takes the answer any more."""


class Receiver:
    """What both kinds of cycles have: whoever waits for the next message is woken."""

    __slots__ = ("_pause", "_waiters", "connection", "is_lost", "scope", "task")

    # Makes receive and send faster ones, which do what is plain and leave all else to those here; None: there are none.
    bind = None

    def __init__(self, connection, scope):
        self.connection = connection
        self.scope = scope
        self.is_lost = False
        # Who runs it; None: that is not known yet.
        self.task = None
        self._waiters = []
        # How long it waits who asks again after the end, in seconds.
        self._pause = 0

    async def _news(self):
        waiter = self.connection.worker.loop.create_future()
        self._waiters.append(waiter)
        try:
            await waiter
        finally:
            if waiter in self._waiters:
                self._waiters.remove(waiter)

    async def _patience(self):
        """Who goes on asking when he has been told that it is over would hold up all others, and never end."""
        pause, self._pause = self._pause, min(2 * self._pause or 0.001, 1)
        if pause:
            await asyncio.sleep(pause)
        if pause == 1:
            raise ClientGone("the client has gone, as was told many times")

    def _wake(self):
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)

    async def run(self):
        worker, bind = self.connection.worker, self.bind
        receive, send = bind(self) if bind else (self.receive, self.send)
        try:
            await worker.application(self.scope, receive, send)
        except ClientGone:
            self.over(None)
        except asyncio.CancelledError:
            self.over("the application has cancelled its own task" if not worker.is_stopping else "the worker ends")
        except BaseException as error:
            if self.is_lost and isinstance(error, Exception) and is_gone(error):
                self.over(None)
            else:
                self.over(worker.sentence(error), worker.traceback(error))
        else:
            self.over(None)
        finally:
            worker.ended(self.task)


def is_gone(error):
    """Whether nothing has happened but that the client has gone, to however many tasks."""
    inner = getattr(error, "exceptions", None)
    if inner is not None:
        return all(is_gone(one) for one in inner)
    return isinstance(error, (ClientGone, asyncio.CancelledError))


class Cycle(Receiver):
    # Values here are those that a request begins with: to set each for every request takes longer than to serve it.
    # Bytes of what has come of the body; and whether the application knows that it is all.
    _size, _told = 0, False
    _is_started = _is_over = _is_complete = False
    # The body comes once it is asked for.
    on_demand = False
    # The head, until there is something to be sent with it.
    _head = b""
    # Fields behind the body; None: there are none to come.
    _trailers = None
    # Bytes that Content-Length says are still to come; None: it says nothing.
    _left = None

    def __init__(self, connection, scope, has_body):
        super().__init__(connection, scope)
        # What has come of the body, and whether that is all of it.
        self._pieces = []
        self._whole = not has_body
        self._is_head = scope["method"] == "HEAD"

    # What the connection says.

    def body(self, piece):
        if piece is None:
            self._whole = True
        else:
            self._pieces.append(piece)
            self._size += len(piece)
            if self._size > WAITING and not self._is_complete:
                self.connection.read(False)
        self._wake()

    def lost(self):
        self.is_lost = True
        self._wake()

    def is_silent(self):
        """Whether the front waits for more of an answer that has begun."""
        return self._is_started and not self._head and not self._is_complete

    # What the application calls.

    async def receive(self):
        while not (self.is_lost or self._is_complete):
            if self._pieces or (self._whole and not self._told):
                body = self._pieces[0] if len(self._pieces) == 1 else b"".join(self._pieces)
                self._pieces, self._told = [], self._whole
                if self._size > WAITING:
                    self.connection.read(True)
                self._size = 0
                return {"type": "http.request", "body": body, "more_body": not self._whole}
            if self.on_demand:
                self.on_demand = False
                self.connection.say(wire.WANTED)
            await self._news()
        await self._patience()
        return {"type": "http.disconnect"}

    async def send(self, message):
        kind = message["type"]
        if self.is_lost:
            raise ClientGone("the client has gone")
        if kind == "http.response.body":
            self._body(message.get("body", b""), message.get("more_body", False))
            if not self._is_complete:
                await self.connection.room()
        elif kind == "http.response.start":
            self._start(message)
        elif kind == "http.response.trailers":
            self._end(message)
        elif kind == "http.response.early_hint":
            if self._is_started:
                raise RuntimeError("http.response.early_hint comes before http.response.start")
            self.connection.say(wire.head(b"I", 103, [(b"link", link) for link in message.get("links", ())]))
        elif kind == "http.response.pathsend":
            await self._file(message["path"])
        else:
            raise RuntimeError(f"a message of the type {kind!r} is none of an HTTP answer")

    def _start(self, message):
        if self._is_started:
            raise RuntimeError("http.response.start was sent twice")
        status = message["status"]
        if not isinstance(status, int):
            raise TypeError(f"the status must be a number, not {type(status).__name__}")
        if not 200 <= status <= 999:
            raise ValueError(f"{int(status)} is not a status that an answer can have")
        if message.get("trailers"):
            self._trailers = []
        head, length = wire.measured_head(b"H", int(status), message.get("headers", ()))
        if length is not None:
            if not length.isdigit():
                raise ValueError(f"{length!r} is not a length (content-length)")
            self._left = int(length)
        self._head = head
        if self._is_head or status in (204, 304):
            self._left = None
        self._is_started = True

    def _body(self, piece, more):
        if not self._is_started:
            raise RuntimeError("http.response.body was sent before http.response.start")
        if self._is_complete or self._is_over:
            raise RuntimeError("a message was sent after the end of the answer")
        if type(piece) is not bytes:
            if not isinstance(piece, (bytes, bytearray, memoryview)):
                raise TypeError(f"the body must be bytes, not {type(piece).__name__}")
            piece = bytes(piece)
        if self._left is not None:
            self._left -= len(piece)
            if self._left < 0:
                raise RuntimeError("the body is longer than its Content-Length")
            if not more and self._left:
                raise RuntimeError(f"the body is {self._left} bytes shorter than its Content-Length")
        out, self._head = self._head, b""
        if piece and not self._is_head:
            out += wire.FRAME.pack(b"B", len(piece)) + piece
        if more or self._trailers is not None:
            if out:
                self.connection.say(out)
            self._is_over = not more
            return
        self._finish(out)

    def _end(self, message):
        if self._trailers is None or not self._is_over or self._is_complete:
            raise RuntimeError("http.response.trailers comes behind the body, where http.response.start has announced it")
        self._trailers += message.get("headers", ())
        if not message.get("more_trailers", False):
            self._finish(wire.head(b"T", 200, self._trailers))

    def _finish(self, out):
        self._is_complete = True
        end = self.connection.ending(self._whole)
        self.connection.say(out + end)
        self.connection.done(end)
        if self._waiters:
            self._wake()

    async def _file(self, path):
        loop = self.connection.worker.loop
        file = await loop.run_in_executor(None, open, os.fspath(path), "rb")
        with file:
            while piece := await loop.run_in_executor(None, file.read, PIECE):
                if self.is_lost:
                    raise ClientGone("the client has gone")
                self._body(piece, True)
                await self.connection.room()
        self._body(b"", False)

    def over(self, why, trace=None):
        """The application has returned, or raised."""
        if self.is_lost:
            if trace:
                self.connection.worker.tell(trace)
            return
        if self._is_complete:
            if trace:
                self.connection.worker.tell(trace)
            return
        if why is None:
            why = "it returned " + ("before its answer was complete" if self._is_started else "without an answer")
        self._is_complete = True
        out = wire.log(trace) if trace else b""
        if not self._is_started or self._head:
            # Nothing of it has gone: there will be a page that says what has happened.
            out += wire.failure(why)
            end = self.connection.ending(self._whole)
        else:
            out += wire.failure(why)
            end = wire.LAST
        self.connection.say(out + end)
        self.connection.done(end)
