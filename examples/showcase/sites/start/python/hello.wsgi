# A WSGI application: a function that gets a request's environment and returns the body in pieces. Below /drip it
# streams: a generator, of which each piece is sent as it comes.
import os
import sys
import time

requests = 0


def application(environ, start_response):
    global requests
    if environ["PATH_INFO"] == "/drip":
        start_response("200 OK", [("Content-Type", "text/plain; charset=utf-8")])
        return drops()
    requests += 1
    page = (
        f"<p>Request {requests} of worker {os.getpid()}, mounted at <code>{environ['SCRIPT_NAME'] or '/'}</code>, "
        f"Python {sys.version.split()[0]}.</p>\n"
    )
    start_response("200 OK", [("Content-Type", "text/html; charset=utf-8")])
    return [page.encode()]


def drops():
    for drop in range(1, 11):
        yield f"Line {drop}, written at {time.ctime()}\n".encode()
        time.sleep(0.3)
