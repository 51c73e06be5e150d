# A worker: an event loop, the application, and the connections of the front's that it has accepted.
import asyncio
import errno
import faulthandler
import gc
import os
import resource
import signal
import sys
import time
import traceback

from . import connection, forks, program
from .connection import Connection
from .http import ClientGone
from .lifespan import Failed, Lifespan
from .said import INFO, WARN, say
from .threads import Threads
from .wire import ALIVE

# How long requests have to end once the worker is to, in seconds: with what the application does at its end, less than
# the three seconds after which the site's process ends all.
GRACE = 1.5
# The status of a worker that has served as many requests as it should.
RETIRED = 76
# Descriptors that connections leave free.
SPARE_DESCRIPTORS = 16
# Descriptors of a worker where nothing bounds them.
MOST_DESCRIPTORS = 1 << 20


class Worker:
    """What all connections of a worker share."""

    def __init__(self, options, board):
        self._options = options
        # Where all workers show how they are.
        self._board = board
        self._tasks = set()
        # Connections of which it is not known yet what they begin with.
        self._greeted = 0
        self.listener = None
        self._stop = None
        self._requests = options.number("requests")
        self.most = options.number("max-message") or (16 << 20)
        self.deflates = options.number("deflate", 1) != 0
        self.connections = set()
        # The event loop's own, of the signals by which a worker is told to end.
        self.handlers = {}
        self.application = None
        self.loop = None
        # The lifespan's state; None: the application has none.
        self.state = None
        self.begun = 0
        # It has been said that there are no descriptors left.
        self._is_short = False
        self.now = 0.0
        self.is_retiring = self.is_stopping = False
        self._is_eager = sys.version_info >= (3, 12)

    # What connections ask for.

    def start(self, cycle):
        """Runs a request. It forgets itself (`ended`): to be called back at a task's end is another turn of the loop."""
        if self._is_eager:
            task = asyncio.Task(cycle.run(), loop=self.loop, eager_start=True)
            if task.done():
                return
        else:
            task = self.loop.create_task(cycle.run())
        cycle.task = task
        self._tasks.add(task)

    def counted(self):
        self._board.count(len(self.connections))

    def ended(self, task):
        """A request has come to its end; `None`: before its task was known."""
        self._tasks.discard(task)
        if self._requests and self.begun >= self._requests and not self.is_retiring:
            say(INFO, f"the worker has served {self.begun} requests (maximum-requests), and another takes its place")
            self.loop.call_soon(self.retire)

    @staticmethod
    def tell(text):
        sys.stderr.write(text)
        sys.stderr.flush()

    @staticmethod
    def sentence(error):
        if isinstance(error, SystemExit):
            return "it raised SystemExit, which ends no worker"
        text = str(error).split("\n")[0][:300]
        return f"it raised {type(error).__name__}: {text}" if text else f"it raised {type(error).__name__}"

    @staticmethod
    def traceback(error):
        lines = traceback.format_exception(type(error), error, error.__traceback__)
        return "".join(lines)

    @staticmethod
    def forgotten(loop, context):
        """Of a task that nobody waits for: that its client has gone is nobody's fault."""
        if not isinstance(context.get("exception"), ClientGone):
            loop.default_exception_handler(context)

    # Its life.

    def retire(self):
        """Takes no more requests, and ends with the last of those that are there."""
        if not self.is_retiring:
            self.is_retiring = True
            self._stop.set()

    def _replace(self, why):
        if not self.is_retiring:
            say(WARN, why)
            self.retire()

    def _terminate(self):
        self.is_stopping = True
        self.retire()

    def _look(self):
        """Each second: shows that the loop turns, and keeps connections alive."""
        self._board.beat()
        self.now = now = self.loop.time()
        quiet, interval = self._options.number("timeout", 60) / 3, self._options.number("ping", 20)
        for connection in list(self.connections):
            cycle = connection.cycle
            if cycle is None:
                continue
            if connection.is_raw:
                cycle.look(now, interval)
            elif now - connection.last >= quiet and cycle.is_silent():
                connection.say(ALIVE)
        self.loop.call_later(1, self._look)

    async def serve(self, listener, ready):
        self._stop = asyncio.Event()
        self._highest = sys.maxsize
        self.now = self.loop.time()
        self.loop.set_exception_handler(self.forgotten)
        self._look()
        for number in (signal.SIGTERM, signal.SIGINT):
            self.loop.add_signal_handler(number, self._terminate)
            self.handlers[number] = signal.getsignal(number)
        file = seen = None
        threads = self._options.number("threads")
        if self.application is None:
            self.application, file = program.load(self._options.text("app"), threads > 0)
            seen = file and program.state(file)
        if threads:
            several, timeout = self._options.number("workers", 1) > 1, self._options.number("timeout", 60)
            self.application = Threads(self.application, threads, several, timeout, self._replace)
        lifespan = Lifespan(self)
        if not threads:
            # WSGI has none.
            await lifespan.start()
        self.state = lifespan.state
        # What is there by now stays: to look through it for garbage again and again would take a part of each request's time.
        gc.collect()
        gc.freeze()
        self._highest = resource.getrlimit(resource.RLIMIT_NOFILE)[0] - SPARE_DESCRIPTORS
        self.listener = listener
        if connection.links is not None:
            # Where requests begin in the loop's next turn, the front is woken for all of their answers behind them.
            settle = () if self._is_eager else (connection.links.settle,)
            connection.links.begin(self.loop.call_soon, connection.links.look, *settle)
        self.counted()
        self._listen()
        ready(file, seen)
        await self._stop.wait()
        await self._drain()
        await lifespan.stop()

    def _listen(self):
        if self.is_retiring:
            return
        if self._has_room():
            self.loop.add_reader(self.listener.fileno(), self._accept)
        else:
            self.loop.call_later(0.1, self._listen)

    def _has_room(self):
        """Whether there are descriptors for a connection more: the kernel gives the lowest number that is free."""
        try:
            free = os.dup(self.listener.fileno())
        except OSError:
            return False
        os.close(free)
        return free < self._highest

    def _accept(self):
        """Takes one connection, unless another worker has fewer: then that one gets a moment to do it."""
        if len(self.connections) + self._greeted > self._board.fewest() + 1:
            self.loop.remove_reader(self.listener.fileno())
            self.loop.call_later(0.005, self._listen)
            return
        try:
            accepted, _ = self.listener.accept()
        except OSError as error:
            if error.errno in (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM):
                self._pause_accepting(error)
            # Else another one was faster.
            return
        if accepted.fileno() >= self._highest:
            # The last ones are for what comes with connections, and for the application.
            self._pause_accepting(OSError(errno.EMFILE, os.strerror(errno.EMFILE)))
        accepted.setblocking(False)
        if connection.links is None:
            self._begin(accepted)
        elif not self._greet(accepted):
            self._greeted += 1
            self.loop.add_reader(accepted.fileno(), self._greet_later, accepted)

    def _pause_accepting(self, error):
        """There is no descriptor for another connection, which waits: to look at it again and again would take all time."""
        self.loop.remove_reader(self.listener.fileno())
        self.loop.call_later(0.1, self._listen)
        if not self._is_short:
            self._is_short = True
            say(WARN, f"{len(self.connections)} connections are open, and no further one can be accepted now: {error.strerror}")

    def _greet(self, accepted):
        """Looks what a connection begins with: memory perhaps. False: nothing has come yet."""
        try:
            greeting = connection.links.greet(accepted.fileno())
        except BlockingIOError:
            return False
        if greeting is None:
            accepted.close()
        else:
            self._begin(accepted, *greeting)
        return True

    def _greet_later(self, accepted):
        self._greeted -= 1
        self.loop.remove_reader(accepted.fileno())
        if not self._greet(accepted):
            self._greeted += 1
            self.loop.add_reader(accepted.fileno(), self._greet_later, accepted)

    def _begin(self, accepted, *greeting):
        task = self.loop.create_task(self._connect(accepted, greeting))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _connect(self, accepted, greeting):
        try:
            await self.loop.connect_accepted_socket(lambda: Connection(self, *greeting), accepted)
        except OSError:
            accepted.close()

    async def _drain(self):
        self.loop.remove_reader(self.listener.fileno())
        end = self.loop.time() + (GRACE if self.is_stopping else 30)
        while self.connections and self.loop.time() < end and not (self.is_stopping and not self._tasks):
            if self.is_stopping:
                end = min(end, self.loop.time() + GRACE)
            for connection in list(self.connections):
                if connection.cycle is None:
                    connection.part()
                elif self.is_stopping and connection.is_raw:
                    connection.cycle.stop()
            await asyncio.sleep(0.02)
        for task in list(self._tasks):
            task.cancel()
        if self._tasks:
            await asyncio.wait(list(self._tasks), timeout=0.5)
        for connection in list(self.connections):
            connection.transport.close()
        await asyncio.sleep(0)


def new_loop():
    """uvloop, if the environment has it; and which one it is."""
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop(), "asyncio"
    return uvloop.new_event_loop(), f"uvloop {uvloop.__version__}"


def run(options, listener, board, pipe, application):
    """The whole life of a worker's process; returns its status."""
    faulthandler.enable()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    raise_descriptors()
    said = {"loop": "", "started": time.monotonic()}

    def ready(file, seen):
        os.write(pipe, "\n".join([f"R{said['loop']}", file or "", *map(str, seen or ())]).encode())
        os.close(pipe)

    worker = Worker(options, board)
    worker.application = application
    os.register_at_fork(after_in_child=lambda: forks.leave(worker))
    worker.loop, said["loop"] = new_loop()
    loop = worker.loop
    asyncio.set_event_loop(loop)
    try:
        loop.run_until_complete(worker.serve(listener, ready))
    except (Failed, program.NoApplication) as error:
        return refuse(pipe, str(error))
    except BaseException as error:
        traceback.print_exc()
        sys.stderr.flush()
        if worker.begun == 0 and not worker.is_retiring:
            return refuse(pipe, worker.sentence(error))
        return 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
    try:
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()
    except BaseException:
        traceback.print_exc()
    return RETIRED if worker.is_retiring and not worker.is_stopping else 0


def raise_descriptors():
    """Each request at a time is a connection, and the usual limit is meant for programs that wait by select()."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard == resource.RLIM_INFINITY or soft < hard:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (MOST_DESCRIPTORS if hard == resource.RLIM_INFINITY else hard, hard))
        except (OSError, ValueError):
            # What it has will do for most.
            pass


def refuse(pipe, why):
    try:
        os.write(pipe, b"F" + why.encode("utf-8", "backslashreplace")[:4000])
    except OSError:
        sys.stderr.write(why + "\n")
    return 70
