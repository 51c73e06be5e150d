# Scripts: how they are loaded, and anew, and the applications in them. Part of the text of support.py, behind it.


# Modules of scripts, by their files: what was loaded, and when it was written; and the files of those that no request has used.
loaded, unused = {}, set()


def module_name(file):
    return "_mod_wsgi_" + hashlib.md5(os.fsencode(file), usedforsecurity=False).hexdigest()


def state_of(file):
    facts = os.stat(file)
    return (facts.st_dev, facts.st_ino, facts.st_size, facts.st_mtime_ns)


def load(file):
    """Loads a script, if it is not loaded, and gives its module."""
    known = loaded.get(file)
    if known is not None:
        return known[0]
    state = state_of(file)
    with open(file, "rb") as source:
        text = source.read()
    module = types.ModuleType(module_name(file))
    module.__file__ = file
    code = compile(text, file, "exec", dont_inherit=True)
    sys.modules[module.__name__] = module
    try:
        exec(code, module.__dict__)
    except BaseException:
        sys.modules.pop(module.__name__, None)
        raise
    loaded[file] = (module, state)
    unused.add(file)
    return module


def is_stale(file, resource):
    """Whether a script that says so itself (reload_required) is to be loaded anew; then it is forgotten."""
    known = None if file in unused else loaded.get(file)
    function = getattr(known[0], "reload_required", None) if known else None
    try:
        if function is None or not function(resource):
            return False
    except BaseException as error:
        tell(file, error)
        return False
    say(INFO, f"Reloading WSGI script '{file}'.")
    del loaded[file]
    return True


def says_when_stale(file):
    return file in loaded and hasattr(loaded[file][0], "reload_required")


def application(file, callable_name):
    """An application; None: there is none of that name; what is raised has been told."""
    try:
        module = load(file)
    except BaseException as error:
        say(ERROR, f"Failed to exec Python script file '{file}'.")
        tell(file, error)
        return False
    unused.discard(file)
    found = getattr(module, callable_name, None)
    if found is None:
        say(ERROR, f"Target WSGI script '{file}' does not contain WSGI application '{callable_name}'.")
    elif event_callbacks:
        return with_events(found, callable_name)
    return found


# Requests that are answered before workers are forked (HostlerPythonPreload): what an application does with its first one is
# done then, and all workers have it.

# Pieces of such an answer that are taken: one that never ends would hold up all others.
MOST_PIECES = 1000


def warm_up(requests):
    for request in requests:
        file, *rest = request.split("\0")
        try:
            status = answer_ahead(file, *rest)
        except BaseException as error:
            say(WARN, f"'{file}' could not answer a request before workers are forked.")
            tell(file, error)
        else:
            if status >= "4":
                say(WARN, f"'{file}' answered {status} to the request before workers are forked.")


def answer_ahead(file, callable_name, host, mount, rest):
    """Has an application answer; gives its status."""
    import urllib.parse
    import wsgiref.util

    path, _, query = rest.partition("?")
    name, _, port = host.partition(":")
    said = [""]

    def start_response(status, headers, exc_info=None):
        said[0] = status
        return lambda piece: None

    environ = {
        "REQUEST_METHOD": "GET",
        "SCRIPT_NAME": mount,
        "PATH_INFO": urllib.parse.unquote_to_bytes(path).decode("latin-1"),
        "QUERY_STRING": query,
        "REQUEST_URI": mount + rest,
        "SERVER_NAME": name,
        "SERVER_PORT": port or "80",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "SERVER_SOFTWARE": "Hostler",
        "HTTP_HOST": host,
        "REMOTE_ADDR": "127.0.0.1",
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": "http",
        "wsgi.input": io.BytesIO(),
        "wsgi.errors": error_log("<wsgi.errors>"),
        "wsgi.multithread": False,
        "wsgi.multiprocess": True,
        "wsgi.run_once": False,
        "wsgi.file_wrapper": wsgiref.util.FileWrapper,
    }
    answer = getattr(load(file), callable_name)(environ, start_response)
    try:
        for _ in itertools.islice(answer, MOST_PIECES):
            pass
    finally:
        if hasattr(answer, "close"):
            answer.close()
    return said[0]
