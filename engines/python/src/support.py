# The part of the engine that is easier said in Python: what applications find around them (their errors, input, wrappers of
# files), and how scripts are loaded. The extension runs this text as a module of its own, with itself as `_hostler`.
import atexit
import gc
import hashlib
import io
import itertools
import os
import resource
import signal
import site
import stat
import struct
import sys
import threading
import time
import traceback
import types

ERROR, WARN, NOTICE, INFO = 3, 4, 5, 6

# How long a trial of importing may take, in seconds: as long again, for the import itself, and it ends in time for the
# pool, which gives its parent a minute.
TRIAL = 25


class Log(io.RawIOBase):
    """The bytes behind a text stream, as lines of the ErrorLog (`sys.stderr.buffer`)."""

    # A line that is longer goes in pieces.
    LONGEST = 8192

    def __init__(self, name):
        self.name = name
        self._rest = b""
        self._lock = threading.Lock()

    def writable(self):
        return True

    def fileno(self):
        return 2

    def close(self):
        if not sys.is_finalizing():
            raise RuntimeError("log object cannot be closed")

    def write(self, data):
        data = bytes(data)
        with self._lock:
            lines = (self._rest + data).split(b"\n")
            self._rest = lines.pop()
            if len(self._rest) > self.LONGEST:
                lines.append(self._rest)
                self._rest = b""
        for line in lines:
            _hostler.log(ERROR, line)
        return len(data)

    def flush(self):
        with self._lock:
            rest, self._rest = self._rest, b""
        if rest:
            _hostler.log(ERROR, rest)


def error_log(name):
    """What is printed, as lines of the ErrorLog: a text stream, as mod_wsgi has it."""
    # What UTF-8 cannot encode is written as an escape, so that nothing is lost.
    return io.TextIOWrapper(Log(name), "utf-8", "backslashreplace", line_buffering=True, write_through=True)


class Restricted:
    """A stream that programs may not use."""

    def __init__(self, name):
        self.__dict__["_name"] = name

    def __getattr__(self, _):
        raise OSError(f"{self._name} access restricted by mod_wsgi")


class Input(io.BufferedIOBase):
    """`wsgi.input`: the request's body, as it comes."""

    def __init__(self, serial):
        self._serial = serial
        self._rest = b""
        self._ended = False

    def readable(self):
        return True

    def close(self):
        pass

    def _more(self, most):
        if self._ended:
            return b""
        piece = _hostler.read(self._serial, most)
        if not piece:
            self._ended = True
        return piece

    def read(self, size=-1, /):
        if size is None or size < 0:
            pieces = [self._rest]
            self._rest = b""
            while piece := self._more(1 << 16):
                pieces.append(piece)
            return b"".join(pieces)
        pieces, length = [self._rest], len(self._rest)
        while length < size:
            piece = self._more(size - length)
            if not piece:
                break
            pieces.append(piece)
            length += len(piece)
        whole = b"".join(pieces)
        self._rest = whole[size:]
        return whole[:size]

    def read1(self, size=-1, /):
        if not self._rest:
            self._rest = self._more(1 << 16 if size is None or size < 0 else size)
        return self.read(len(self._rest) if size is None or size < 0 else min(size, len(self._rest)))

    def readinto(self, into, /):
        data = self.read(len(into))
        into[: len(data)] = data
        return len(data)

    def readline(self, size=-1, /):
        limit = -1 if size is None else size
        searched = 0
        while True:
            end = self._rest.find(b"\n", searched) + 1
            if end or (0 <= limit <= len(self._rest)):
                break
            searched = len(self._rest)
            piece = self._more(8192)
            if not piece:
                end = len(self._rest)
                break
            self._rest += piece
        if 0 <= limit and (not end or end > limit):
            end = limit
        line, self._rest = self._rest[:end], self._rest[end:]
        return line

    def readlines(self, hint=-1, /):
        lines, length = [], 0
        while line := self.readline():
            lines.append(line)
            length += len(line)
            if hint is not None and 0 < hint <= length:
                break
        return lines

    def __iter__(self):
        return self

    def __next__(self):
        if line := self.readline():
            return line
        raise StopIteration


class FileWrapper:
    """`wsgi.file_wrapper`"""

    def __init__(self, filelike, blksize=65536, /):
        self.filelike = filelike
        self.blksize = blksize
        if hasattr(filelike, "close"):
            self.close = filelike.close

    def __iter__(self):
        return self

    def __next__(self):
        if data := self.filelike.read(self.blksize):
            return data
        raise StopIteration


def reads_as(file, kind):
    """Whether it is of this kind, and nobody has taught it to read otherwise."""
    return isinstance(file, kind) and all(
        getattr(type(file), name, None) is getattr(kind, name, None) for name in ("read", "readinto", "readall"))


def file_of(wrapper):
    """What a FileWrapper has, if reading it gives just the bytes of a file on disk: for `file.rs`; else None."""
    try:
        read = wrapper.filelike.read
        # Those of temporary files are functions around a file's, those of Django's files the file's own.
        source = getattr(getattr(read, "__wrapped__", read), "__self__", None)
        # What a text is encoded as is what stands in the file.
        buffered = source.buffer if reads_as(source, io.TextIOWrapper) else source
        is_buffered = reads_as(buffered, io.BufferedReader) or reads_as(buffered, io.BufferedRandom)
        raw = buffered.raw if is_buffered else buffered
        if not reads_as(raw, io.FileIO) or not raw.readable():
            return None
        if isinstance(source, io.BufferedRandom):
            source.flush()
        facts = os.fstat(raw.fileno())
        at = source.tell()
        path = os.fsencode(os.readlink("/proc/self/fd/%d" % raw.fileno()))
    except Exception:
        return None
    if not stat.S_ISREG(facts.st_mode):
        return None
    return struct.pack("<QQQQI", facts.st_dev, facts.st_ino, at, max(facts.st_size - at, 0), len(path)) + path


# As programs know them.
for known in (Log, Input, FileWrapper, Restricted):
    known.__module__ = "mod_wsgi"


def say(severity, text):
    for line in text.rstrip("\n").split("\n"):
        _hostler.log(severity, line.encode("utf-8", "backslashreplace"))


def tell(script, error):
    """Writes what an application has raised into the log."""
    if isinstance(error, SystemExit):
        say(ERROR, f"SystemExit exception raised by WSGI script '{script}' ignored.")
    else:
        say(ERROR, f"Exception occurred processing WSGI script '{script}'.")
    say(ERROR, "".join(traceback.format_exception(type(error), error, error.__traceback__)))


def ignore_signals(restrict):
    """Programs may not take over the signals by which the engine is told to end."""
    original = signal.signal

    def restricted(signalnum, handler):
        if _hostler.is_forked_away():
            return original(signalnum, handler)
        say(WARN, f"Callback registration for signal {int(signalnum)} ignored.")
        say(WARN, "".join(traceback.format_stack(sys._getframe(1))))
        return signal.getsignal(signalnum)

    if restrict:
        signal.signal = restricted


def begin(path, home, restrict_signal, restrict_stdout, restrict_stdin, dont_write_bytecode):
    """The first of what is done in an interpreter."""
    sys.argv = ["mod_wsgi"]
    sys.dont_write_bytecode = dont_write_bytecode or sys.dont_write_bytecode
    sys.stderr = sys.__stderr__ = error_log("<stderr>")
    sys.stdout = sys.__stdout__ = Restricted("sys.stdout") if restrict_stdout else error_log("<stdout>")
    if restrict_stdin:
        sys.stdin = sys.__stdin__ = Restricted("sys.stdin")
    ignore_signals(restrict_signal)
    # As with site.addsitedir, and then first.
    before = list(sys.path)
    for folder in path:
        site.addsitedir(folder)
    added = [entry for entry in sys.path if entry not in before]
    # What is imported is looked for in home= before anywhere else.
    sys.path[:] = [home] * bool(home) + added + before


def import_all(scripts, imports):
    """Imports what can be imported; what can't is told when it is asked for."""
    for file in [*imports, *scripts]:
        try:
            load(file)
        except BaseException as error:
            say(WARN, f"'{file}' could not be imported before workers are forked.")
            if file in imports:
                tell(file, error)


def load_all(files):
    """Loads what can be loaded."""
    for file in files:
        try:
            load(file)
        except BaseException:
            pass


def load_and_answer(files, requests):
    """The same, and has the requests answered."""
    load_all(files)
    for request in requests:
        try:
            answer_ahead(*request.split("\0"))
        except BaseException:
            pass


def preload(mode, scripts, imports, requests):
    """Imports before workers are forked, if that can be, and has requests answered."""
    scripts = [file for file in scripts if os.path.isfile(file)]
    if mode == 2 or not (scripts or imports):
        return False
    if mode == 0:
        why = why_not(lambda: load_and_answer([*imports, *scripts], requests), TRIAL)
        if why and requests:
            say(NOTICE, "applications answer no request before workers are forked: " + why)
            requests = []
            why = why_not(lambda: load_all([*imports, *scripts]), TRIAL)
        if why:
            say(NOTICE, "applications are imported in each worker, not before workers are forked: " + why)
            return False
    import_all(scripts, imports)
    warm_up(requests)
    gc.collect()
    gc.freeze()
    return True


def files():
    """What is loaded, with the state that it had."""
    found = {}
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None)
        if isinstance(file, str):
            try:
                found[file] = state_of(file)
            except OSError:
                found[file] = None
    found.update({file: state for file, (_, state) in loaded.items()})
    return found


def is_unchanged(before):
    def now(file):
        try:
            return state_of(file)
        except OSError:
            return None

    return all(now(file) == state for file, state in before.items())


def begin_worker(imports):
    """The first of what a worker does: what could not be done before it was forked."""
    for file in imports:
        try:
            load(file)
        except BaseException as error:
            tell(file, error)


def end():
    """The last of what a worker does."""
    publish(event_callbacks + shutdown_callbacks, "process_stopping", shutdown_reason="")
    try:
        threading._shutdown()
    except BaseException:
        pass
    try:
        atexit._run_exitfuncs()
    except BaseException as error:
        tell("(at exit)", error)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BaseException:
            pass
