# What the front and a worker say to each other over a connection (crates: hostler-python-frames, `asgi`): frames of a
# letter, a length in four bytes, and so many bytes. The front is believed: nobody else can connect.
import re
import struct

# From the front: a request; a piece of its body; that body's end.
SCOPE, BODY, END = b"S"[0], b"B"[0], b"E"[0]
# Flags of a request: there is a body; it comes once it is asked for.
HAS_BODY, ON_DEMAND = 1, 2

# What the front offers memory with: bytes of it.
MEMORY_LENGTH = 13

FRAME = struct.Struct(">cI")
HEAD = struct.Struct(">HH")
# Both together.
BEGINNING = struct.Struct(">cIHH")
FIELD = struct.Struct(">HI")

# An answer's end: the connection can have the next request, or is closed.
DONE = FRAME.pack(b"E", 1) + b"\1"
LAST = FRAME.pack(b"E", 1) + b"\0"
# The request's body is wanted.
WANTED = FRAME.pack(b"R", 0)
# Nothing, said so that nobody takes this side for dead.
ALIVE = FRAME.pack(b"N", 0)
# What comes from here on is not looked at: it goes to another worker.
GOODBYE = FRAME.pack(b"G", 0)

# RFC 9110 §5.1, §5.5.
NAME = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+").fullmatch
BAD_VALUE = re.compile(rb"[\0\r\n]").search

LONGEST_LOG = 64 << 10


def frame(kind, payload):
    return FRAME.pack(kind, len(payload)) + payload


# Fields as they are sent, and what each says of the body's length (None: nothing), by what the application has said: most are
# said again with each answer, and to check and encode one anew costs several times as much as to find it. So many at most, none
# longer than so many bytes.
MOST_KNOWN = 512
LONGEST_KNOWN = 256
_known = {}


def field(header):
    """A header field as it is sent, checked; and what it says of the body's length, or None."""
    name, value = header
    if type(name) is not bytes or type(value) is not bytes:
        if not isinstance(name, (bytes, bytearray)) or not isinstance(value, (bytes, bytearray)):
            raise TypeError(
                f"a header's name and value must be bytes, and these are {type(name).__name__} and "
                f"{type(value).__name__}: ({name!r}, {value!r})"
            )
        name, value = bytes(name), bytes(value)
    value = value.strip(b" \t")
    if not NAME(name):
        raise ValueError(f"{name!r} is not a header's name")
    if BAD_VALUE(value):
        raise ValueError(f"the value of the header {name!r} has a line end or a NUL: {value!r}")
    encoded = FIELD.pack(len(name), len(value)) + name + value
    known = encoded, value if len(name) == 14 and name.lower() == b"content-length" else None
    if type(header) is tuple and type(header[0]) is type(header[1]) is bytes and len(encoded) <= LONGEST_KNOWN:
        if len(_known) >= MOST_KNOWN:
            _known.clear()
        _known[header] = known
    return known


def measured_head(kind, status, headers):
    """The frame of a head, and what its fields say of the body's length, or None."""
    parts, length = [], None
    for header in headers:
        try:
            known = _known.get(header)
        except TypeError:
            # A list, say: nothing that can be a key.
            known = None
        part, said = known or field(header)
        parts.append(part)
        if said is not None:
            length = said
    encoded = b"".join(parts)
    return BEGINNING.pack(kind, HEAD.size + len(encoded), status, len(parts)) + encoded, length


def head(kind, status, headers):
    """The frame of a head: kind H (an answer's), A (a WebSocket is accepted), I (early hints)."""
    return measured_head(kind, status, headers)[0]


def log(text):
    return frame(b"L", text.encode("utf-8", "backslashreplace")[:LONGEST_LOG])


def failure(text):
    return frame(b"F", text.encode("utf-8", "backslashreplace")[:4096])
