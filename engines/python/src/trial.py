# Whether an application can be imported before its workers are forked: a process of its own imports it first, and looks at
# what that has left running. Threads do not come along with a fork, and connections and processes would be shared by all
# workers. WSGI's support has this text in it, for ASGI it is a module.
import os
import select
import signal
import time


def why_not(load, longest):
    """Why it can't be; nothing: it can. What raises, raises again where that is told."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(reader)
            _try(load, writer)
        finally:
            os._exit(0)
    os.close(writer)
    try:
        return _heard(reader, longest)
    finally:
        # What it has started is found while it is there: it waits for the pipe's end.
        _end(child)
        os.close(reader)


def _try(load, writer):
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    before = _sockets(), _open_files()
    try:
        load()
    except BaseException:
        pass
    os.write(writer, _left_behind(before).encode() + b"\n")
    # What it has started is found as long as it is there: until nobody listens any more.
    ended = select.poll()
    ended.register(writer, 0)
    ended.poll()


def _heard(reader, longest):
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


def _left_behind(before):
    threads = len(os.listdir("/proc/self/task"))
    if threads > 1:
        return f"it starts threads ({threads})"
    opened = len(_sockets() - before[0])
    if opened:
        return f"it opens connections ({opened})"
    kept = _open_files() - before[1]
    if kept:
        return f"it keeps files open that it reads and writes, as databases do ({', '.join(sorted(kept)[:3])})"
    started = len(_descendants(os.getpid()))
    return f"it starts processes ({started})" if started else ""


def _sockets():
    found = set()
    for number in os.listdir("/proc/self/fd"):
        try:
            target = os.readlink("/proc/self/fd/" + number)
        except OSError:
            continue
        if target.startswith("socket:"):
            found.add(target)
    return found


def _open_files():
    """Files that are read and written. Logs, which are only added to, can be shared."""
    found = set()
    for number in os.listdir("/proc/self/fd"):
        try:
            target = os.readlink("/proc/self/fd/" + number)
            with open("/proc/self/fdinfo/" + number) as info:
                flags = int(info.read().split("flags:")[1].split()[0], 8)
        except (OSError, IndexError, ValueError):
            continue
        is_file = target.startswith("/") and not target.startswith(("/dev/", "/proc/", "/memfd:")) and not target.endswith(" (deleted)")
        if is_file and flags & os.O_ACCMODE == os.O_RDWR and not flags & os.O_APPEND:
            found.add(target)
    return found


def _end(child):
    """Ends the trial, and all that it has started. They are stopped first: one that is stopped starts no others."""
    stopped, found = set(), {child}
    while found - stopped:
        for pid in found - stopped:
            _signal(pid, signal.SIGSTOP)
            stopped.add(pid)
        found |= _descendants(child)
    for pid in stopped:
        _signal(pid, signal.SIGKILL)
    os.waitpid(child, 0)


def _signal(pid, number):
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


def _descendants(pid):
    parents = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb") as file:
                    state, parent = file.read().rpartition(b")")[2].split()[:2]
            except OSError:
                continue
            if state != b"Z":
                parents.setdefault(int(parent), []).append(int(name))
    found, rest = set(), [pid]
    while rest:
        for one in parents.get(rest.pop(), ()):
            if one not in found:
                found.add(one)
                rest.append(one)
    return found
