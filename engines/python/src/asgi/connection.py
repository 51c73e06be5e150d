# A connection of the front's: one request after the other, or one WebSocket, after whose acceptance the client's bytes
# come as they are. The front closes it when the client has gone.
import asyncio
import marshal

from . import http, websocket, wire


# What begins plain requests faster; None: the interpreter can't load it.
hears = None
# The extension, which has memory beside connections (`memory`); None: the same.
links = None


def unheard(_data):
    """Nobody is there any more."""


class Connection(asyncio.Protocol):
    __slots__ = (
        "_buffer", "_room", "cycle", "data_received", "introduction", "is_raw", "last", "memory", "socket", "transport", "worker",
    )

    def __init__(self, worker, data=b"", memory=None):
        self.data_received = hears(self) if hears else self.heard
        self.worker = worker
        # The way over the socket, and the way that the request has come, through the memory perhaps.
        self.socket = self.transport = None
        # Memory that the front has offered, and what tells it that the memory is used: it is said with the first answer.
        self.memory = memory
        self.introduction = data if memory is not None else b""
        # What is being answered.
        self.cycle = None
        # The cycle takes bytes, not frames.
        self.is_raw = False
        # When something was last said, by the loop's clock.
        self.last = 0
        self._buffer = b"" if memory is not None else data
        # Whoever waits until what was said has gone; None: there is room.
        self._room = None

    def connection_made(self, transport):
        self.socket = self.transport = transport
        transport.set_write_buffer_limits(high=256 << 10)
        self.worker.connections.add(self)
        self.worker.counted()
        if self.memory is not None:
            self.memory.attach(self, transport)
        elif self._buffer:
            self.heard(b"")

    def connection_lost(self, _error):
        # Else it would hold itself.
        self.data_received = unheard
        if self.memory is not None:
            self.memory.detach()
        self.worker.connections.discard(self)
        self.worker.counted()
        self.resume_writing()
        if self.cycle is not None:
            cycle, self.cycle = self.cycle, None
            cycle.lost()

    def heard(self, data):
        if self.is_raw:
            self.cycle.received(data)
            return
        if self._buffer:
            data = self._buffer + data
        at, length = 0, len(data)
        if length > 5 and data[0] == wire.SCOPE and length == 5 + int.from_bytes(data[1:5], "big"):
            # Nearly always.
            self._buffer = b""
            self._begin(data[5:])
            return
        while length - at >= 5:
            end = at + 5 + int.from_bytes(data[at + 1 : at + 5], "big")
            if end > length:
                break
            kind, payload = data[at], data[at + 5 : end]
            at = end
            if kind == wire.SCOPE:
                self._begin(payload)
            elif self.cycle is not None:
                self.cycle.body(payload if kind == wire.BODY else None)
        self._buffer = data[at:] if at < length else b""

    def _begin(self, payload):
        scope = marshal.loads(memoryview(payload)[1:])
        kind = scope["type"]
        if self.introduction:
            self.transport.write(self.introduction)
            self.introduction = b""
        if kind == "hostler.presence":
            self.transport.write(wire.head(b"H", 200, []) + wire.DONE)
            self.done(wire.DONE)
            return
        worker = self.worker
        worker.begun += 1
        if worker.state is not None:
            scope["state"] = worker.state.copy()
        module = websocket if kind == "websocket" else http
        scope["extensions"].update(module.EXTENSIONS)
        self.cycle = module.Cycle(self, scope, bool(payload[0] & wire.HAS_BODY))
        if payload[0] & wire.ON_DEMAND:
            self.cycle.on_demand = True
        worker.start(self.cycle)

    # What cycles ask for.

    def say(self, data):
        self.last = self.worker.now
        self.transport.write(data)

    def read(self, goes_on):
        """Whether the front's bytes are wanted now."""
        if not self.transport.is_closing():
            if goes_on:
                self.transport.resume_reading()
            else:
                self.transport.pause_reading()

    async def room(self):
        """Waits until the client has taken most of what was said."""
        if self._room is not None:
            await asyncio.shield(self._room)
        elif self.transport.is_closing():
            # Who does nothing but send would hold up the loop, which is about to say that nobody is there.
            await asyncio.sleep(0)

    def pause_writing(self):
        if self._room is None:
            self._room = self.worker.loop.create_future()

    def resume_writing(self):
        if self._room is not None:
            room, self._room = self._room, None
            if not room.done():
                room.set_result(None)

    def done(self, end):
        """The request is answered, and the last of it said."""
        self.cycle = None
        if end is wire.LAST or self.worker.is_retiring:
            self.transport.close()
        elif self.transport is self.memory:
            self.memory.finish()

    def part(self):
        """Nobody asks anything here: says that nobody is to."""
        if not self.transport.is_closing():
            self.socket.write(wire.GOODBYE)
            # Nothing is taken out of the memory any more either, though it may never have been used: whoever asks is sent elsewhere.
            (self.socket if self.memory is None else self.memory).close()

    def ending(self, is_clean):
        """What ends an answer: whether the connection can have another request."""
        return wire.DONE if is_clean and not self.worker.is_retiring else wire.LAST
