# WebSocket's frames (RFC 6455 §5) and their compression (RFC 7692), without any I/O: bytes in, events out.
#
# Compression keeps no context between messages: a context is 300 KB for each connection, and most connections are idle.
import codecs
import struct
import zlib

CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG = 0, 1, 2, 8, 9, 10

# Close codes that may be sent (§7.4).
CODES = frozenset((1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 1012, 1013, 1014))
# Messages below this many bytes are sent as they are.
WORTH_IT = 256


class Broken(Exception):
    """The client does not keep to the protocol: with which code the connection is closed, and why."""

    def __init__(self, code, reason):
        super().__init__(reason)
        self.code = code
        self.reason = reason


def is_code(code):
    return code in CODES or 3000 <= code < 5000


def unmasked(data, mask):
    length = len(data)
    key = int.from_bytes((mask * (length // 4 + 1))[:length], "little")
    return (int.from_bytes(data, "little") ^ key).to_bytes(length, "little")


class Decoder:
    """What comes from the client."""

    __slots__ = ("_deflate", "_inflater", "_kind", "_left", "_most", "_needed", "_parts", "_pieces", "_size", "_text")

    def __init__(self, most, deflate):
        # What has come and is no whole frame yet: how many bytes, and how many it takes to go on.
        self._pieces, self._size, self._needed = [], 0, 0
        self._most = most
        self._deflate = deflate
        self._kind = None
        self._reset()

    def _reset(self):
        self._kind = self._text = self._inflater = None
        self._parts = None
        self._left = self._most

    def feed(self, data):
        """The events in what has come: (kind, payload), as they are complete."""
        self._pieces.append(data)
        self._size += len(data)
        if self._size < self._needed:
            return
        buffer = b"".join(self._pieces) if len(self._pieces) > 1 else data
        at, self._needed = 0, 0
        while (found := self._frame(buffer, at)) is not None:
            at, first, payload = found
            event = self._event(first, payload)
            if event is not None:
                yield event
        rest = buffer[at:]
        self._pieces, self._size = [rest] if rest else [], len(rest)

    def _frame(self, buffer, at):
        """The next frame: where it ends, its first byte, its payload; None: it is not all there."""
        there = len(buffer) - at
        if there < 2:
            return None
        first, second = buffer[at], buffer[at + 1]
        length, start = second & 127, 2
        self._check(first, second, length)
        if length == 126:
            if there < 4:
                return None
            (length,), start = struct.unpack_from(">H", buffer, at + 2), 4
        elif length == 127:
            if there < 10:
                return None
            (length,), start = struct.unpack_from(">Q", buffer, at + 2), 10
        if first & 15 < CLOSE and length > self._left:
            raise Broken(1009, f"a message is longer than {self._most} bytes")
        end = start + 4 + length
        if there < end:
            self._needed = end
            return None
        mask = bytes(buffer[at + start : at + start + 4])
        return at + end, first, unmasked(bytes(buffer[at + start + 4 : at + end]), mask)

    def _check(self, first, second, length):
        kind = first & 15
        if not second & 128:
            raise Broken(1002, "a frame is not masked")
        if first & 0x30 or (first & 0x40 and not (self._deflate and kind in (TEXT, BINARY))):
            raise Broken(1002, "a reserved bit is set")
        if kind in (CLOSE, PING, PONG):
            if not first & 128 or length > 125:
                raise Broken(1002, "a control frame is too long, or in pieces")
        elif kind > BINARY:
            raise Broken(1002, "a frame is of no known kind")
        elif (kind == CONTINUATION) == (self._kind is None):
            raise Broken(1002, "a message begins or goes on where it can't")

    def _event(self, first, payload):
        kind = first & 15
        if kind == CLOSE:
            return CLOSE, self._closed(payload)
        if kind in (PING, PONG):
            return kind, payload
        is_last = bool(first & 128)
        if kind != CONTINUATION:
            if is_last and not first & 0x40:
                return kind, (self._decoded(payload) if kind == TEXT else payload)
            self._kind, self._parts = kind, []
            self._text = codecs.getincrementaldecoder("utf-8")() if kind == TEXT else None
            self._inflater = zlib.decompressobj(-15) if first & 0x40 else None
        if self._inflater is not None:
            payload = self._inflated(payload, is_last)
        self._left -= len(payload)
        if self._left < 0:
            raise Broken(1009, f"a message is longer than {self._most} bytes")
        if self._text is not None:
            try:
                payload = self._text.decode(payload, is_last)
            except UnicodeDecodeError:
                raise Broken(1007, "a text is not UTF-8") from None
        self._parts.append(payload)
        if not is_last:
            return None
        kind, parts = self._kind, self._parts
        self._reset()
        return kind, ("" if kind == TEXT else b"").join(parts)

    def _inflated(self, payload, is_last):
        try:
            if is_last:
                payload += b"\0\0\xff\xff"
            data = self._inflater.decompress(payload, self._left + 1)
        except zlib.error:
            raise Broken(1007, "a compressed message can't be read") from None
        if self._inflater.unconsumed_tail:
            raise Broken(1009, f"a message is longer than {self._most} bytes")
        return data

    @staticmethod
    def _decoded(payload):
        try:
            return payload.decode()
        except UnicodeDecodeError:
            raise Broken(1007, "a text is not UTF-8") from None

    def _closed(self, payload):
        if not payload:
            return 1005, ""
        if len(payload) == 1:
            raise Broken(1002, "a close frame has half a code")
        code = int.from_bytes(payload[:2], "big")
        if not is_code(code):
            raise Broken(1002, f"{code} is not a code to close with")
        return code, self._decoded(payload[2:])


def frame(kind, payload, first=0x80):
    """A frame as a server sends it: not masked."""
    length = len(payload)
    if length < 126:
        return bytes((first | kind, length)) + payload
    if length < 65536:
        return struct.pack(">BBH", first | kind, 126, length) + payload
    return struct.pack(">BBQ", first | kind, 127, length) + payload


def message(kind, payload, bits):
    """A whole message; `bits`: of the window it is compressed with, 0: it is not."""
    if not bits or len(payload) < WORTH_IT:
        return frame(kind, payload)
    packer = zlib.compressobj(zlib.Z_DEFAULT_COMPRESSION, zlib.DEFLATED, -bits, 5)
    packed = packer.compress(payload) + packer.flush(zlib.Z_SYNC_FLUSH)
    return frame(kind, packed[:-4], 0xC0)


def close(code, reason=""):
    text = reason.encode("utf-8", "replace")[:123]
    while True:
        try:
            text.decode()
            break
        except UnicodeDecodeError:
            text = text[:-1]
    return frame(CLOSE, b"" if code == 1005 else code.to_bytes(2, "big") + text)


def offered(header):
    """The first acceptable offer of permessage-deflate: the bits of the window, and what is answered; else (0, None)."""
    for offer in header.split(","):
        name, *parameters = (part.strip() for part in offer.split(";"))
        if name != "permessage-deflate":
            continue
        bits, seen, fits = 15, set(), True
        for parameter in parameters:
            key, _, value = (part.strip() for part in parameter.partition("="))
            value = value.strip('"')
            fits = fits and key not in seen
            seen.add(key)
            if key == "server_max_window_bits":
                # zlib can't have a window of 256 bytes.
                fits = fits and value.isdigit() and 9 <= int(value) <= 15
                bits = int(value) if fits else 0
            elif key == "client_max_window_bits":
                fits = fits and (not value or (value.isdigit() and 8 <= int(value) <= 15))
            else:
                fits = fits and not value and key in ("server_no_context_takeover", "client_no_context_takeover")
        if fits:
            answer = "permessage-deflate; server_no_context_takeover; client_no_context_takeover"
            if "server_max_window_bits" in seen:
                answer += f"; server_max_window_bits={bits}"
            return bits, answer
    return 0, None
