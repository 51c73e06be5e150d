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


def resident_memory():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


def process_metrics():
    used, now = resource.getrusage(resource.RUSAGE_SELF), time.time()
    number = _hostler.request()
    count = max(0, number - 1)
    return {
        "pid": os.getpid(),
        "request_busy_time": _hostler.busy() / 1e6,
        "request_count": count,
        "memory_max_rss": used.ru_maxrss * 1024,
        "memory_rss": resident_memory(),
        "cpu_user_time": used.ru_utime,
        "cpu_system_time": used.ru_stime,
        "restart_time": started,
        "current_time": now,
        "running_time": int(now - started),
        # Each process serves one request at a time.
        "request_threads": 1,
        "active_requests": int(number != 0),
        "threads": [{"thread_id": 1, "request_count": count}],
    }


class Sample:
    """What requests have taken since `request_metrics` was called last."""

    # What times are sorted by: up to 5 ms, up to 10 ms, and so on; the last place is for all that are longer.
    BUCKETS, FIRST = 16, 0.005

    def __init__(self):
        self.start = time.time()
        self.used, self.busy = resource.getrusage(resource.RUSAGE_SELF), _hostler.busy()
        # Seconds in all, and the buckets, by what they were spent on.
        self.sums = dict.fromkeys(("server_time", "queue_time", "daemon_time", "application_time"), 0.0)
        self.buckets = {name: [0] * self.BUCKETS for name in self.sums}
        self.count = 0

    def add(self, **times):
        self.count += 1
        for name, seconds in times.items():
            self.sums[name] += seconds
            at, most = 0, self.FIRST
            while seconds > most and at < self.BUCKETS - 2:
                at, most = at + 1, 2 * most
            self.buckets[name][at] += 1

    def figures(self):
        used, stop = resource.getrusage(resource.RUSAGE_SELF), time.time()
        period = max(stop - self.start, 1e-6)
        found = {
            "pid": os.getpid(),
            "start_time": self.start,
            "stop_time": stop,
            "sample_period": period,
            "cpu_user_time": (used.ru_utime - self.used.ru_utime) / period,
            "cpu_system_time": (used.ru_stime - self.used.ru_stime) / period,
            "memory_max_rss": used.ru_maxrss * 1024,
            "memory_rss": resident_memory(),
            "request_threads_maximum": 1,
            "request_threads_started": 1,
            "capacity_utilization": (_hostler.busy() - self.busy) / 1e6 / period,
            "request_count": self.count,
            "request_throughput": self.count / period,
        }
        found.update({f"{name}_buckets": buckets for name, buckets in self.buckets.items()})
        found.update({"request_threads_buckets": [self.count], "request_threads_active": int(self.count > 0)})
        found.update({name: seconds / self.count if self.count else 0.0 for name, seconds in self.sums.items()})
        return found


sample = None


def request_metrics():
    """What the requests of this process have taken since the last call; the first one begins to count."""
    global sample
    found = sample.figures() if sample else {}
    sample = Sample()
    _hostler.measure()
    return found


def measured(server, queue, application):
    """A request has ended: microseconds before it waited for this process, while it did, and in the application."""
    sample.add(server_time=server / 1e6, queue_time=queue / 1e6, daemon_time=0.0, application_time=application / 1e6)


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
    for known in (FileWrapper, request_data, process_metrics, request_metrics, server_metrics, subscribe_events, subscribe_shutdown):
        setattr(module, known.__name__, known)
    module.event_callbacks, module.shutdown_callbacks = event_callbacks, shutdown_callbacks
    module.active_requests = active_requests
    sys.modules["mod_wsgi"] = module
    server = types.ModuleType("apache", "The server, as the programs of mod_wsgi know it.")
    server.version, server.description = (2, 4, 55), "Hostler (Apache-compatible)"
    server.build_date, server.mpm_name = "", "prefork"
    server.maximum_processes = server.threads_per_process = 1
    sys.modules["apache"] = server
