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
