# Whether an application can be imported before its workers are forked: a process of its own imports it first, and looks at
# what that has left running. Threads do not come along with a fork, and connections would be shared by all workers.
import os
import select
import signal
import time

from . import program


def run(said, longest):
    """Why it can't be; nothing: it can. An import that fails, fails again where that is told."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(reader)
            signal.set_wakeup_fd(-1)
            for number in (signal.SIGCHLD, signal.SIGTERM):
                signal.signal(number, signal.SIG_DFL)
            quiet = os.open(os.devnull, os.O_WRONLY)
            os.dup2(quiet, 1)
            os.dup2(quiet, 2)
            before = sockets()
            try:
                program.load(said)
            except BaseException:
                pass
            os.write(writer, left_behind(before).encode() + b"\n")
        finally:
            os._exit(0)
    os.close(writer)
    try:
        return heard(reader, longest)
    finally:
        os.close(reader)
        # What the trial has started ends with it.
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def heard(reader, longest):
    deadline, said = time.monotonic() + longest, b""
    while True:
        if not select.select([reader], [], [], max(0, deadline - time.monotonic()))[0]:
            return f"it takes longer than {longest} seconds"
        piece = os.read(reader, 4096)
        if not piece:
            return "it ends the process"
        said += piece
        # Its end is not waited for: a process that it has started may keep the pipe open.
        if said.endswith(b"\n"):
            return said[:-1].decode()


def left_behind(before):
    threads = len(os.listdir("/proc/self/task"))
    if threads > 1:
        return f"it starts threads ({threads})"
    opened = len(sockets() - before)
    return f"it opens connections ({opened})" if opened else ""


def sockets():
    found = set()
    for number in os.listdir("/proc/self/fd"):
        try:
            target = os.readlink("/proc/self/fd/" + number)
        except OSError:
            continue
        if target.startswith("socket:"):
            found.add(target)
    return found
