# WSGI applications all of whose requests are to be in one process (`wsgi-threads=`), for what they keep in memory: each
# request runs in a thread, beside the event loop that speaks with the front.
import asyncio
import io
import os
import re
import sys
import wsgiref.util
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import unquote_to_bytes

from . import wire
from .forks import end

# A control character (RFC 5234).
CONTROL = re.compile(rb"[\0-\x1f\x7f]").search
# Of other fields no variable is made: its name could be taken for another's.
NAME = re.compile(rb"[a-z0-9-]+")


class Threads:
    """A WSGI application, as one of ASGI."""

    def __init__(self, application, many, is_multiprocess, timeout, retire):
        self._application = application
        self._pool = ThreadPoolExecutor(many, "wsgi")
        self._is_multiprocess = is_multiprocess
        self._timeout = timeout
        self._retire = retire

    async def __call__(self, scope, receive, send):
        if scope["type"] == "websocket":
            await send({"type": "websocket.close"})
            return
        if scope["type"] != "http":
            raise NotImplementedError("WSGI has no lifespan")
        loop = asyncio.get_running_loop()
        call = Call(loop, send)
        environ = environment(scope, io.BufferedReader(Input(call, receive)), self._is_multiprocess)
        running = loop.run_in_executor(self._pool, call.run, self._application, environ)
        await self._watch(running, receive.__self__)
        await running

    async def _watch(self, running, cycle):
        """Nobody can end a thread. One that goes on for so long after its client has gone has its process replaced."""
        was_lost = False
        while not running.done():
            await asyncio.wait({running}, timeout=self._timeout)
            if was_lost and not running.done():
                self._retire("a thread goes on although its client has gone, and another worker takes this one's place")
                return
            was_lost = cycle.is_lost


class Call:
    """A request in its thread."""

    def __init__(self, loop, send):
        self._loop = loop
        self._send = send
        self._process = os.getpid()
        # What the answer begins with; None: start_response was not called.
        self._head = None
        self._is_begun = False
        # Bytes that Content-Length leaves room for; None: it says nothing.
        self._room = None

    def wait(self, coroutine):
        """Has the event loop do something, and waits for it: for ever, in a process that the application has forked."""
        self._leave()
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()

    def _leave(self):
        if os.getpid() != self._process:
            end()

    def run(self, application, environ):
        try:
            self._run(application, environ)
        finally:
            self._leave()

    def _run(self, application, environ):
        answer = application(environ, self._start_response)
        try:
            if isinstance(answer, (list, tuple)):
                # Nothing of it is to come: it goes at once.
                pieces = [checked(piece) for piece in answer]
                self._say(b"".join(pieces), False, len(pieces) == 1)
                return
            for piece in answer:
                self._write(piece)
            self._say(b"", False)
        finally:
            if hasattr(answer, "close"):
                answer.close()

    def _start_response(self, status, headers, exc_info=None):
        if exc_info is not None:
            try:
                if self._is_begun:
                    raise exc_info[1].with_traceback(exc_info[2])
            finally:
                exc_info = None
        elif self._is_begun:
            raise RuntimeError("headers have already been sent")
        code, pairs = code_of(status), pairs_of(headers)
        lengths = [value for name, value in pairs if name.lower() == b"content-length"]
        self._room = length_of(lengths[-1]) if lengths else None
        self._head = {"type": "http.response.start", "status": code, "headers": pairs}
        return self._write

    def _write(self, piece):
        if checked(piece):
            self._say(piece, True)

    def _say(self, piece, goes_on, is_all=False):
        if self._head is None:
            raise RuntimeError("the application has not called start_response")
        has_body = self._head["status"] not in (204, 304)
        if is_all and has_body and self._room is None and not self._is_begun:
            self._head["headers"].append((b"content-length", b"%d" % len(piece)))
        elif self._room is not None:
            # What is longer than was said is cut, as mod_wsgi does.
            piece = piece[: self._room]
            self._room -= len(piece)
        self.wait(self._pass({"type": "http.response.body", "body": piece, "more_body": goes_on}))

    async def _pass(self, message):
        if not self._is_begun:
            self._is_begun = True
            await self._send(self._head)
        await self._send(message)


# What `start_response` is given, checked with mod_wsgi's words (engines/python/src/response.rs).


def text_of(said):
    if not isinstance(said, str):
        raise TypeError(f"expected unicode object, value of type {type(said).__name__} found")
    try:
        return said.encode("latin-1")
    except UnicodeEncodeError:
        raise ValueError("unicode object contains non latin-1 characters") from None


def code_of(status):
    line = text_of(status)
    if not line[:3].isdigit() or len(line) < 3 or line[3:4].isdigit():
        raise ValueError("status code is not a 3 digit integer")
    if line[3:4] != b" ":
        raise ValueError("no space following status code")
    if CONTROL(line):
        raise ValueError("control character present in reason phrase")
    return int(line[:3])


def pairs_of(headers):
    if not isinstance(headers, list):
        found = "None" if headers is None else type(headers).__name__
        raise TypeError(f"start_response() argument 2 must be list, not {found}")
    return [pair_of(header) for header in headers]


def pair_of(header):
    if not isinstance(header, tuple):
        raise TypeError(f"list of tuple values expected for headers, value of type {type(header).__name__} found")
    if len(header) != 2:
        raise ValueError(f"tuple of length 2 expected for header, length is {len(header)}")
    name, value = text_of(header[0]), text_of(header[1])
    if not wire.NAME(name):
        raise ValueError("header name is not a token" if name else "header name is empty")
    if wire.BAD_VALUE(value):
        raise ValueError("carriage return/line feed character present in header value")
    return name, value


def length_of(value):
    if not value.isdigit():
        raise ValueError("invalid content length")
    return int(value)


def checked(piece):
    if not isinstance(piece, bytes):
        raise TypeError(f"sequence of byte string values expected, value of type {type(piece).__name__} found")
    return piece


class Input(io.RawIOBase):
    """`wsgi.input`: what comes is asked for when it is read."""

    def __init__(self, call, receive):
        self._call = call
        self._receive = receive
        self._rest, self._goes_on = b"", True

    def readable(self):
        return True

    def readinto(self, buffer):
        while not self._rest and self._goes_on:
            message = self._call.wait(self._receive())
            if message["type"] != "http.request":
                raise OSError("the client has gone")
            self._rest, self._goes_on = message["body"], message["more_body"]
        length = min(len(buffer), len(self._rest))
        buffer[:length], self._rest = self._rest[:length], self._rest[length:]
        return length


def environment(scope, body, is_multiprocess):
    """What the application is told of a request (PEP 3333)."""
    path, mount = unquote_to_bytes(scope["raw_path"]), scope["root_path"].encode()
    if not path.startswith(mount):
        path, mount = mount + path, mount
    host, port = (scope["server"] or ("", 80))[:2]
    query = scope["query_string"].decode("latin-1")
    target = scope["raw_path"].decode("latin-1")
    found = {
        "REQUEST_METHOD": scope["method"],
        "SCRIPT_NAME": mount.decode("latin-1"),
        "PATH_INFO": path[len(mount) :].decode("latin-1"),
        "QUERY_STRING": query,
        "REQUEST_URI": f"{target}?{query}" if query else target,
        "SERVER_NAME": host,
        "SERVER_PORT": str(port),
        "SERVER_PROTOCOL": "HTTP/" + scope["http_version"],
        "GATEWAY_INTERFACE": "CGI/1.1",
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": scope["scheme"],
        "wsgi.input": body,
        "wsgi.input_terminated": True,
        "wsgi.errors": sys.stderr,
        "wsgi.file_wrapper": wsgiref.util.FileWrapper,
        "wsgi.multithread": True,
        "wsgi.multiprocess": is_multiprocess,
        "wsgi.run_once": False,
    }
    if scope["client"]:
        found["REMOTE_ADDR"], found["REMOTE_PORT"] = scope["client"][0], str(scope["client"][1])
    login = scope["extensions"].get("hostler")
    if login:
        found["REMOTE_USER"], found["AUTH_TYPE"] = login["user"], login["auth_type"]
    for name, value in scope["headers"]:
        if name == b"proxy" or not NAME.fullmatch(name):
            continue
        variable = name.decode().upper().replace("-", "_")
        if name not in (b"content-type", b"content-length"):
            variable = "HTTP_" + variable
        value = value.decode("latin-1")
        separator = "; " if name == b"cookie" else ", "
        found[variable] = found[variable] + separator + value if variable in found else value
    return found
