# The modules `mod_wsgi` and `apache`, by which programs find out what serves them and where, and hear when their process ends.
# Part of the text of support.py, behind it.

# Functions that are told what happens, and what programs keep of the request that is served, by its number.
event_callbacks, shutdown_callbacks = [], []
active_requests = {}
started = time.time()


def request_data():
    number = _hostler.request()
    if not number:
        raise RuntimeError("no active request for thread")
    if number not in active_requests:
        # A process has one at a time.
        active_requests.clear()
        active_requests[number] = {}
    return active_requests[number]


def process_metrics():
    import resource

    used, now = resource.getrusage(resource.RUSAGE_SELF), time.time()
    with open("/proc/self/statm") as file:
        resident = int(file.read().split()[1]) * resource.getpagesize()
    return {
        "pid": os.getpid(),
        "request_count": max(0, _hostler.request() - 1),
        "memory_max_rss": used.ru_maxrss * 1024,
        "memory_rss": resident,
        "cpu_user_time": used.ru_utime,
        "cpu_system_time": used.ru_stime,
        "restart_time": started,
        "current_time": now,
        "running_time": int(now - started),
    }


def server_metrics():
    """What the server's other processes do is not known here."""


def subscribe_events(callback):
    event_callbacks.append(callback)


def subscribe_shutdown(callback):
    shutdown_callbacks.append(callback)


def publish(callbacks, name, **facts):
    """Tells what happens; what the functions say together."""
    said = {}
    for callback in list(callbacks):
        try:
            said.update(callback(name, **facts) or {})
        except BaseException as error:
            tell(f"({name})", error)
    return said


class Told:
    """What an application has returned to a request that is told of."""

    def __init__(self, answer, facts):
        self._answer, self._facts = answer, facts

    def __iter__(self):
        try:
            yield from self._answer
        except GeneratorExit:
            raise
        except BaseException:
            publish(event_callbacks, "request_exception", exception_info=sys.exc_info(), **self._facts)
            raise

    def close(self):
        try:
            if hasattr(self._answer, "close"):
                self._answer.close()
        finally:
            publish(event_callbacks, "request_finished", **self._facts)


def with_events(application, callable_name):
    """An application whose requests are told to those that have subscribed."""

    def called(environ, start_response):
        facts = {"request_id": environ["mod_wsgi.request_id"], "thread_id": 0, "request_data": request_data()}
        more = {"request_environ": environ, "application_object": application, "callable_object": callable_name}
        said = publish(event_callbacks, "request_started", **facts, **more)

        def start(status, headers, exc_info=None):
            more = {"response_status": status, "response_headers": headers, "exception_info": exc_info}
            publish(event_callbacks, "response_started", **facts, **more)
            return start_response(status, headers, exc_info)

        try:
            return Told(said.get("application_object", application)(environ, start), facts)
        except BaseException:
            publish(event_callbacks, "request_exception", exception_info=sys.exc_info(), **facts)
            publish(event_callbacks, "request_finished", **facts)
            raise

    return called


def own_module():
    """The module `mod_wsgi`: that of an environment that has one, whose parts in Python (mod_wsgi-express) programs import, or
    an empty one."""
    try:
        import mod_wsgi
    except Exception:
        return types.ModuleType("mod_wsgi", "What serves the applications of this interpreter.")
    return mod_wsgi


def present(process_group, application_group, workers):
    module = own_module()
    module.version = (4, 9, 4)
    module.process_group = process_group
    module.application_group = application_group
    # Each serves one request at a time.
    module.maximum_processes, module.threads_per_process = workers, 1
    for known in (FileWrapper, request_data, process_metrics, server_metrics, subscribe_events, subscribe_shutdown):
        setattr(module, known.__name__, known)
    module.event_callbacks, module.shutdown_callbacks = event_callbacks, shutdown_callbacks
    module.active_requests = active_requests
    sys.modules["mod_wsgi"] = module
    server = types.ModuleType("apache", "The server, as the programs of mod_wsgi know it.")
    server.version, server.description = (2, 4, 55), "Hostler (Apache-compatible)"
    server.build_date, server.mpm_name = "", "prefork"
    server.maximum_processes = server.threads_per_process = 1
    sys.modules["apache"] = server
