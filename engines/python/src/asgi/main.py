# The parent of an application's workers: forks them, watches over them, and where none can begin answers in their place
# with the reason.
#
# A worker whose event loop stands still for longer than Timeout is ended with a traceback of where it stands. One that
# dies is forked again, ever more slowly if none is of use. When the application's file changes all begin anew.
import marshal
import mmap
import os
import select
import signal
import socket
import struct
import sys
import time
from importlib.machinery import ExtensionFileLoader
from importlib.util import module_from_spec, spec_from_loader

from . import connection, http, program, trial, wire, worker
from .said import ERROR, NOTICE, WARN, say

# First and longest pause after no worker could begin, and after one has died young, in seconds.
PAUSES = (1, 30)
YOUNG = 5
# How long a worker may be stopped (SIGSTOP), in seconds: its clients would wait for ever.
STOPPED = 5


class Options:
    """The words that the program was started with: name=value."""

    def __init__(self, words):
        self._all = {}
        for word in words:
            name, _, value = word.partition("=")
            self._all.setdefault(name, []).append(value)

    def text(self, name, usual=None):
        return self._all.get(name, [usual])[-1]

    def number(self, name, usual=0):
        return int(self._all.get(name, [usual])[-1])

    def all(self, name):
        return self._all.get(name, [])


class Board:
    """Memory that all workers share: for each, how often its event loop has turned, and how many connections it has."""

    ROW = struct.Struct("II")

    def __init__(self, many):
        self._memory = mmap.mmap(-1, self.ROW.size * many)
        self._many = many
        self._slot = None

    def clear(self, slot):
        """Nobody is there, or nobody yet: no one is to wait for it."""
        self.ROW.pack_into(self._memory, self.ROW.size * slot, 0, 0xFFFFFFFF)

    def enter(self, slot):
        """This process is the worker."""
        self._slot = slot

    def row(self, slot):
        return self.ROW.unpack_from(self._memory, self.ROW.size * slot)

    def beat(self):
        beats, connections = self.row(self._slot)
        self.ROW.pack_into(self._memory, self.ROW.size * self._slot, (beats + 1) & 0xFFFFFFFF, connections)

    def count(self, connections):
        beats, _ = self.row(self._slot)
        self.ROW.pack_into(self._memory, self.ROW.size * self._slot, beats, connections)

    def fewest(self):
        """The smallest number of connections that a worker has."""
        return min(self.row(slot)[1] for slot in range(self._many))


class Child:
    """A worker's process."""

    def __init__(self, pid, slot, pipe):
        self.pid = pid
        self.slot = slot
        # Where it says that it is ready, or why it can't be; None: it has.
        self.pipe = pipe
        self.said = b""
        self.since = self.moved = time.monotonic()
        self.beats = 0
        self.is_ready = self.is_condemned = False
        # When it was stopped by a signal.
        self.stopped = None


class Parent:
    def __init__(self, options, listener, descriptors):
        self._options = options
        self._listener = listener
        # Where these modules and the extension are, for whoever begins anew.
        self._descriptors = descriptors
        self._many = options.number("workers", 1)
        self._timeout = options.number("timeout", 60)
        self._board = Board(self._many)
        self._children = {}
        self._pause = PAUSES[0]
        # Why no worker could begin, and until when that is the answer.
        self._why, self._until = None, 0.0
        self._is_told = self._is_ending = False
        self._application = None
        # The application's file, and its state.
        self._file = self._seen = None
        self._loop = None

    def run(self):
        reader, writer = os.pipe()
        os.set_blocking(writer, False)
        os.set_blocking(reader, False)
        signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGTERM, self._terminate)
        self._listener.setblocking(False)
        self._preload()
        self._fill()
        while not (self._is_ending and not self._children):
            pipes = [child.pipe for child in self._children.values() if child.pipe is not None]
            refuses = [self._listener] if self._refuses() else []
            ready = select.select([reader, *pipes, *refuses], [], [], 1)[0]
            if reader in ready:
                os.read(reader, 4096)
            for child in list(self._children.values()):
                if child.pipe in ready:
                    self._hear(child)
            self._reap()
            self._watch()
            if self._listener in ready and self._refuses():
                if time.monotonic() < self._until:
                    self._refuse()
                else:
                    self._why = None
            self._fill()

    def _terminate(self, *_):
        self._is_ending = True
        for child in self._children.values():
            end(child.pid, signal.SIGTERM)

    # Workers.

    def _preload(self):
        """Imports before workers are forked, if that can be (HostlerPythonPreload); a single one would share it with nobody."""
        mode = self._options.text("preload", "off")
        if mode == "off" or (mode == "auto" and self._many == 1):
            return
        if mode == "auto" and (why := trial.why_not(self._load_in_trial, self._timeout)):
            say(NOTICE, "the application is imported in each worker, not before workers are forked: " + why)
            return
        try:
            self._application, self._file = program.load(self._options.text("app"), self._options.number("threads") > 0)
        except BaseException as error:
            worker.traceback.print_exc()
            self._fail(str(error) if isinstance(error, program.NoApplication) else worker.Worker.sentence(error))
            return
        self._seen = program.state(self._file) if self._file else None
        import gc

        gc.collect()
        gc.freeze()

    def _load_in_trial(self):
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGCHLD, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        program.load(self._options.text("app"), self._options.number("threads") > 0)

    def _refuses(self):
        return self._why is not None and not self._is_ending and not any(c.is_ready for c in self._children.values())

    def _fill(self):
        if self._is_ending or self._why is not None or time.monotonic() < self._until:
            return
        taken = {child.slot for child in self._children.values()}
        for slot in range(self._many):
            if slot not in taken:
                self._fork(slot)

    def _fork(self, slot):
        self._board.clear(slot)
        reader, writer = os.pipe()
        pid = os.fork()
        if pid == 0:
            status = 1
            try:
                signal.set_wakeup_fd(-1)
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                signal.signal(signal.SIGTERM, signal.SIG_DFL)
                os.close(reader)
                for child in self._children.values():
                    if child.pipe is not None:
                        os.close(child.pipe)
                for descriptor in self._descriptors:
                    os.close(descriptor)
                self._board.enter(slot)
                status = worker.run(self._options, self._listener, self._board, writer, self._application)
            finally:
                os._exit(status)
        os.close(writer)
        os.set_blocking(reader, False)
        self._children[pid] = Child(pid, slot, reader)

    def _hear(self, child):
        try:
            while piece := os.read(child.pipe, 8192):
                child.said += piece
        except BlockingIOError:
            return
        os.close(child.pipe)
        child.pipe = None
        if child.said.startswith(b"R"):
            child.is_ready = True
            self._why = None
            loop, file, *seen = child.said[1:].decode(errors="replace").split("\n")
            if file and self._file is None:
                # As it was when the worker had just imported it.
                self._file, self._seen = file, tuple(map(int, seen))
            if loop != self._loop:
                self._loop = loop
                say(NOTICE, f"{self._options.text('app')} is served by Python {sys.version.split()[0]} with {loop}")

    def _reap(self):
        while self._children:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG | os.WUNTRACED | os.WCONTINUED)
            except ChildProcessError:
                return
            if pid == 0:
                return
            child = self._children.get(pid)
            if child is None:
                continue
            if os.WIFSTOPPED(status) or os.WIFCONTINUED(status):
                child.stopped = time.monotonic() if os.WIFSTOPPED(status) else None
                continue
            del self._children[pid]
            self._board.clear(child.slot)
            if child.pipe is not None:
                self._hear(child)
                if child.pipe is not None:
                    os.close(child.pipe)
            self._died(child, status)

    def _died(self, child, status):
        if self._is_ending:
            return
        lived = time.monotonic() - child.since
        if not child.is_ready:
            why = child.said[1:].decode(errors="replace") if child.said.startswith(b"F") else None
            self._fail(why or f"its worker ended before it was ready: {how(status)}")
            return
        if os.WIFEXITED(status) and os.WEXITSTATUS(status) == worker.RETIRED and not child.is_condemned:
            return
        say(ERROR, f"the worker {child.pid} ended: {how(status)}; another one takes its place")
        if lived < YOUNG:
            self._until = time.monotonic() + min(self._pause, 5)
            self._pause = min(2 * self._pause, PAUSES[1])
        else:
            self._pause = PAUSES[0]

    def _fail(self, why):
        """No worker can begin."""
        self._why = why
        self._until = time.monotonic() + self._pause
        say(ERROR, f"the application {self._options.text('app')} can't be started, and is not tried again for {self._pause} s: {why}")
        self._pause = min(2 * self._pause, PAUSES[1])

    def _watch(self):
        now = time.monotonic()
        for child in self._children.values():
            if child.stopped is not None and now - child.stopped > STOPPED:
                say(ERROR, f"the worker {child.pid} is killed: it has been stopped by a signal for {STOPPED} s")
                child.is_condemned = True
                child.stopped = None
                end(child.pid, signal.SIGKILL)
            beats, _ = self._board.row(child.slot)
            if beats != child.beats:
                child.beats, child.moved = beats, now
                if child.is_ready and now - child.since > YOUNG:
                    self._pause = PAUSES[0]
            still = now - (child.moved if child.is_ready else child.since)
            if still < self._timeout:
                continue
            if not child.is_condemned:
                child.is_condemned = True
                what = "its event loop stands still" if child.is_ready else "it is not ready"
                say(ERROR, f"the worker {child.pid} is ended: {what} for {self._timeout} s (Timeout)")
                child.said = child.said or f"Fit was not ready within {self._timeout} s (Timeout)".encode()
                end(child.pid, signal.SIGABRT)
            elif still > self._timeout + 1:
                end(child.pid, signal.SIGKILL)
        if self._options.text("reload") == "on" and self._file and not self._is_ending:
            # While it is written anew it may be away for a moment.
            if program.state(self._file) not in (None, self._seen):
                self._begin_anew()

    def _begin_anew(self):
        """The application's file is another one: all of its modules may be."""
        say(NOTICE, f"{self._file} has changed: the application begins anew")
        for child in self._children.values():
            end(child.pid, signal.SIGTERM)
        deadline = time.monotonic() + 4
        while self._children and time.monotonic() < deadline:
            self._is_ending = True
            self._reap()
            time.sleep(0.02)
        for child in self._children.values():
            end(child.pid, signal.SIGKILL)
        with open("/proc/self/cmdline", "rb") as file:
            words = file.read().split(b"\0")[:-1]
        os.dup2(self._listener.fileno(), 0)
        os.set_inheritable(0, True)
        for descriptor in self._descriptors:
            os.set_inheritable(descriptor, True)
        signal.set_wakeup_fd(-1)
        os.execv(words[0], words)

    # In their place.

    def _refuse(self):
        """Says to whoever asks why there is no worker."""
        said = wire.failure("the application can't be started: " + self._why) + wire.LAST
        for _ in range(64):
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with connection:
                connection.settimeout(0.2)
                try:
                    if connection.recv(wire.MEMORY_LENGTH).startswith(b"M"):
                        # What it has offered is of no use, and the request comes behind it.
                        connection.recv(65536)
                    connection.sendall(said)
                    connection.shutdown(socket.SHUT_WR)
                except OSError:
                    pass


def how(status):
    if os.WIFSIGNALED(status):
        return f"signal {os.WTERMSIG(status)}"
    return f"exit status {os.WEXITSTATUS(status)}"


def end(pid, number):
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


def confine(settle):
    """No other process of the site's user may trace this one or read its memory, as with all warm workers
    (hostler-sys, harden): what is secret to the application is not its CGI programs'. Workers inherit it."""
    try:
        settle()
    except (ImportError, AttributeError, OSError) as error:
        say(ERROR, f"other programs of the site can look into the application's processes: {error}")


def settle_by_libc():
    """What the extension does, for interpreters that cannot load it (prctl(2), PR_SET_DUMPABLE)."""
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(4, 0, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl")


def quicken(extension):
    """Has plain requests served by the extension, if the interpreter can load it. Returns what confines this process."""
    if sys.implementation.name != "cpython" or "t" in getattr(sys, "abiflags", ""):
        return settle_by_libc
    loader = ExtensionFileLoader("_hostler_cycle", f"/proc/self/fd/{extension}")
    try:
        module = module_from_spec(spec_from_loader("_hostler_cycle", loader))
        loader.exec_module(module)
    except ImportError as error:
        say(WARN, f"requests are served more slowly: the extension can't be loaded: {error}")
        return settle_by_libc
    module.prepare(http.Cycle, marshal.loads, http.EXTENSIONS)
    http.Cycle.bind = module.bind
    connection.hears, connection.links = module.hears, module
    return module.confine


def main(descriptors, words):
    options = Options(words)
    listener = socket.socket(fileno=os.dup(0))
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    for descriptor in descriptors:
        os.set_inheritable(descriptor, False)
    confine(quicken(descriptors[1]))
    sys.argv = ["hostler-python"]
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(line_buffering=True, errors="backslashreplace")
    for folder in reversed(options.all("path")):
        sys.path.insert(0, folder)
    if options.text("umask"):
        os.umask(int(options.text("umask"), 8))
    home = options.text("home") or os.environ.get("HOME")
    try:
        os.chdir(home or "/")
    except OSError as error:
        if options.text("home"):
            say(ERROR, f"home={home} can't be the working directory: {error.strerror}")
            os._exit(78)
    if options.text("home") and home not in sys.path:
        # Modules are looked for where the program is told to be, as by uvicorn and its like.
        sys.path.insert(0, home)
    Parent(options, listener, descriptors).run()
    os._exit(0)
