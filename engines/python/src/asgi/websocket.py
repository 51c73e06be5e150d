# A WebSocket: the `websocket` scope of ASGI 3, over the client's bytes once it is accepted.
import base64
import hashlib

from . import codec, wire
from .http import ClientGone, Receiver

# Messages, and their bytes, that wait for the application; beyond them no more is read.
MOST_WAITING = 32
BYTES_WAITING = 1 << 20
# How long a client may take to answer that a connection is closed, in seconds.
FAREWELL = 5

EXTENSIONS = {"websocket.http.response": {}}
# RFC 6455 §1.3.
GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"

ASKED, ACCEPTED, DENIED, CLOSED = "asked", "accepted", "denied", "closed"


class Cycle(Receiver):
    __slots__ = (
        "_bits", "_decoder", "_end", "_is_paused", "_messages", "_offer", "_pinged", "_size", "_state", "_timer",
    )

    def __init__(self, connection, scope, _has_body):
        super().__init__(connection, scope)
        headers = scope["headers"]
        self._offer = b", ".join(value for name, value in headers if name == b"sec-websocket-extensions")
        self._state = ASKED
        self._messages, self._size, self._is_paused = [{"type": "websocket.connect"}], 0, False
        # Why it is over; None: it is not.
        self._end = None
        self._decoder = None
        self._bits = 0
        self._pinged = 0
        self._timer = None

    # What the connection says.

    def body(self, _piece):
        """Nothing comes before it is accepted."""

    def received(self, data):
        if self._decoder is None:
            return
        try:
            for kind, payload in self._decoder.feed(data):
                self._event(kind, payload)
        except codec.Broken as broken:
            self._decoder = None
            self._say(codec.close(broken.code, broken.reason))
            self._finish(broken.code, broken.reason)
            self.connection.transport.close()

    def _event(self, kind, payload):
        if self._state is not ACCEPTED and kind != codec.CLOSE:
            return
        if kind == codec.TEXT:
            self._push({"type": "websocket.receive", "text": payload}, len(payload))
        elif kind == codec.BINARY:
            self._push({"type": "websocket.receive", "bytes": payload}, len(payload))
        elif kind == codec.PING:
            self._say(codec.frame(codec.PONG, payload))
        elif kind == codec.PONG:
            self._pinged = 0
        else:
            code, reason = payload
            self._decoder = None
            if self._state is ACCEPTED:
                self._say(codec.close(code, reason))
            self._finish(code, reason)
            self.connection.transport.close()

    def _push(self, message, size):
        self._messages.append(message)
        self._size += size
        if not self._is_paused and (len(self._messages) > MOST_WAITING or self._size > BYTES_WAITING):
            self._is_paused = True
            self.connection.read(False)
        self._wake()

    def _finish(self, code, reason=""):
        if self._end is None:
            self._end = {"type": "websocket.disconnect", "code": code, "reason": reason}
        self._state = CLOSED
        self._wake()

    def lost(self):
        self.is_lost = True
        self._finish(1006)
        if self._timer is not None:
            self._timer.cancel()

    def is_silent(self):
        return False

    def look(self, now, interval):
        """Now and then: whether the client is there still."""
        if self._state is not ACCEPTED or not interval:
            return
        if self._pinged and now - self._pinged >= interval:
            self._say(codec.close(1011, "keepalive ping timeout"))
            self._finish(1011, "keepalive ping timeout")
            self.connection.transport.close()
        elif not self._pinged and now - self.connection.last >= interval:
            self._pinged = now
            self._say(codec.frame(codec.PING, b""))

    def stop(self):
        """The worker ends."""
        if self._state is ACCEPTED:
            self._say(codec.close(1012))
            self._finish(1012)
            self.connection.transport.close()

    def _say(self, data):
        if not self.is_lost:
            self.connection.say(data)

    # What the application calls.

    async def receive(self):
        while not self._messages:
            if self._end is not None:
                await self._patience()
                return self._end
            await self._news()
        message = self._messages.pop(0)
        self._size -= len(message.get("text") or message.get("bytes") or "")
        if self._is_paused and len(self._messages) <= MOST_WAITING // 2 and self._size <= BYTES_WAITING:
            self._is_paused = False
            self.connection.read(True)
        return message

    async def send(self, message):
        kind = message["type"]
        if self.is_lost:
            raise ClientGone("the client has gone")
        if self._state is ACCEPTED:
            self._open(kind, message)
            await self.connection.room()
        elif self._state is ASKED:
            self._answer(kind, message)
        elif self._state is DENIED and kind == "websocket.http.response.body":
            self._denial(message)
            await self.connection.room()
        elif self._end is not None:
            raise ClientGone("the WebSocket is closed")
        else:
            raise RuntimeError(f"{kind} was sent after the WebSocket was closed")

    def _open(self, kind, message):
        if kind == "websocket.send":
            text, data = message.get("text"), message.get("bytes")
            if text is not None:
                if not isinstance(text, str):
                    raise TypeError(f"the text of websocket.send must be str, not {type(text).__name__}")
                self._say(codec.message(codec.TEXT, text.encode(), self._bits))
            elif data is not None:
                self._say(codec.message(codec.BINARY, bytes(data), self._bits))
            else:
                raise RuntimeError("websocket.send needs text or bytes")
        elif kind == "websocket.close":
            code, reason = message.get("code", 1000), message.get("reason") or ""
            if code != 1005 and not codec.is_code(code):
                raise ValueError(f"{code} is not a code to close with")
            self._say(codec.close(code, reason))
            self._state = CLOSED
            # What it has been told is over: the client answers that.
            connection = self.connection
            self._timer = connection.worker.loop.call_later(FAREWELL, connection.transport.close)
        else:
            raise RuntimeError(f"{kind} can't be sent once the WebSocket is accepted")

    def _answer(self, kind, message):
        if kind == "websocket.accept":
            self._accept(message)
        elif kind == "websocket.close":
            self._refuse(wire.head(b"H", 403, ()) + wire.LAST)
        elif kind == "websocket.http.response.start":
            status = message["status"]
            if not 300 <= status <= 999 and not 200 <= status < 300:
                raise ValueError(f"{status} is not a status that an answer can have")
            self.connection.say(wire.head(b"H", int(status), message.get("headers", ())))
            self._state = DENIED
        else:
            raise RuntimeError(f"{kind} was sent before websocket.accept or websocket.close")

    def _accept(self, message):
        headers = [(bytes(name), bytes(value)) for name, value in message.get("headers", ())]
        if any(name.lower() == b"sec-websocket-protocol" for name, _ in headers):
            raise ValueError("the subprotocol is said by subprotocol, not by a header")
        subprotocol = message.get("subprotocol")
        if subprotocol is not None:
            headers.append((b"sec-websocket-protocol", subprotocol.encode("ascii")))
        key = next((value for name, value in self.scope["headers"] if name == b"sec-websocket-key"), None)
        if key is not None:
            accepted = base64.b64encode(hashlib.sha1(key + GUID).digest())
            headers.append((b"sec-websocket-accept", accepted))
        worker = self.connection.worker
        if worker.deflates:
            self._bits, answer = codec.offered(self._offer.decode("latin-1"))
            if answer:
                headers.append((b"sec-websocket-extensions", answer.encode()))
        head = wire.head(b"A", 101, headers)
        self._decoder = codec.Decoder(worker.most, bool(self._bits))
        self._state = ACCEPTED
        self.connection.is_raw = True
        self.connection.say(head)

    def _refuse(self, said):
        self.connection.say(said)
        self._finish(1006)
        self.connection.done(wire.LAST)

    def _denial(self, message):
        piece = bytes(message.get("body", b""))
        out = wire.frame(b"B", piece) if piece else b""
        if message.get("more_body", False):
            if out:
                self.connection.say(out)
            return
        self._refuse(out + wire.LAST)

    def over(self, why, trace=None):
        """The application has returned, or raised."""
        if self._state is ASKED and not self.is_lost:
            if why is None:
                why = "it returned without accepting or closing the WebSocket"
            self._refuse((wire.log(trace) if trace else b"") + wire.failure(why) + wire.LAST)
            return
        if trace:
            self.connection.worker.tell(trace)
        if self.is_lost or self._state is CLOSED:
            return
        if self._state is DENIED:
            self._refuse(wire.failure(why or "it returned before its answer was complete") + wire.LAST)
            return
        self._say(codec.close(1011 if why else 1000))
        self._finish(1006)
        self.connection.transport.close()
