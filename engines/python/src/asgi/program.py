# Which application it is, from what `ASGIApp` says: `module:name`, `module:factory()`, or a file's path, with or without
# a name behind it.
import importlib
import importlib.machinery
import importlib.util
import inspect
import os
import sys

NAMES = ("application", "app")


class NoApplication(Exception):
    """There is none: why, in a sentence."""


def split(said):
    """Module or path, and the name; None: one of the usual ones."""
    head, colon, name = said.rpartition(":")
    plain = name[:-2] if name.endswith("()") else name
    if colon and plain.replace(".", "_").isidentifier():
        return head, name
    return said, None


def load(said, is_wsgi=False):
    """The application, and the file that it is in."""
    place, name = split(said)
    module = from_file(place) if place.startswith("/") else importlib.import_module(place)
    found = module
    if name is None:
        name = next((one for one in NAMES if hasattr(module, one)), None)
        if name is None:
            raise NoApplication(f"{place} has neither of the names {' and '.join(NAMES)}: write ASGIApp {place}:name")
    calls = name.endswith("()")
    for part in (name[:-2] if calls else name).split("."):
        if not hasattr(found, part):
            raise NoApplication(f"{place} has no name {name}")
        found = getattr(found, part)
    if calls:
        found = found()
    if not callable(found):
        raise NoApplication(f"{name} of {place} is not an application: {type(found).__name__} can't be called")
    return found if is_wsgi else single(found), getattr(module, "__file__", None)


def state(file):
    """What tells one state of a file from another; None: it is not there."""
    try:
        found = os.stat(file)
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


def from_file(path):
    """Runs a file as a module; what stands beside it can be imported."""
    folder, file = os.path.split(path)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    name = os.path.splitext(file)[0]
    # What it is called others may import; a name that somebody has already is not its.
    if not name.isidentifier() or name in sys.modules or is_another_s(name, path):
        name = "_hostler_application"
    loader = importlib.machinery.SourceFileLoader(name, path)
    spec = importlib.util.spec_from_file_location(name, path, loader=loader)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def is_another_s(name, path):
    """Whether importing this name would find another file. Nobody finds one that is not called as modules are."""
    found = importlib.util.find_spec(name)
    return found is not None and found.origin != path


def is_double(application):
    """Whether it is of ASGI 2: called with the scope, it gives what is called with the rest."""
    if inspect.isclass(application):
        return not hasattr(application, "__await__")
    call = application if inspect.isfunction(application) else getattr(application, "__call__", None)
    if inspect.iscoroutinefunction(application) or inspect.iscoroutinefunction(call):
        return False
    try:
        parameters = inspect.signature(application).parameters.values()
    except (TypeError, ValueError):
        return False
    needed = [one for one in parameters if one.default is one.empty and one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)]
    return len(needed) == 1


def single(application):
    if not is_double(application):
        return application

    async def called(scope, receive, send):
        await application(scope)(receive, send)

    return called
