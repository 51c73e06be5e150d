# What becomes of a process that the application has forked (`os.fork`, multiprocessing): it may do what it was forked for,
# and has no part in what its worker serves.
import os
import signal
import socket
import sys

from . import connection


def leave(worker):
    """The child's first step: nothing that it says reaches the front, and its copy of the event loop ends with its next
    turn, which would run everybody's requests a second time."""
    # It ends by signals as processes do, and they are not told to the worker, whose pipe for them it has.
    signal.set_wakeup_fd(-1)
    for number, handler in worker.handlers.items():
        if signal.getsignal(number) == handler:
            signal.signal(number, signal.SIG_DFL)
    nobody, worker.nobody = socket.socketpair()
    if connection.links is not None:
        connection.links.leave()
    ours = [one.socket.get_extra_info("socket") for one in worker.connections]
    for shared in [worker.listener, *ours]:
        if shared is not None and shared.fileno() >= 0:
            os.dup2(nobody.fileno(), shared.fileno(), inheritable=False)
    worker.loop.call_soon(end)


def end():
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            pass
    os._exit(0)
