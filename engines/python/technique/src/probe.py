# Finds out whether an application is of WSGI or of ASGI: imports it, as its server will, and looks at how it is called.
import importlib
import importlib.machinery
import importlib.util
import inspect
import os
import sys

place, name, home = sys.argv[1:4]
sys.path[:] = [home] + [folder for folder in sys.path if folder]
if place.startswith("/"):
    sys.path.insert(0, os.path.dirname(place))
    loader = importlib.machinery.SourceFileLoader("_hostler_probe", place)
    module = importlib.util.module_from_spec(importlib.util.spec_from_file_location("_hostler_probe", place, loader=loader))
    sys.modules["_hostler_probe"] = module
    loader.exec_module(module)
else:
    module = importlib.import_module(place)
if not name:
    name = next((one for one in ("application", "app") if callable(getattr(module, one, None))), None)
    if name is None:
        sys.exit("%s has no application: neither of the names application and app" % place)
found = module
for part in name.replace("()", "").split("."):
    found = getattr(found, part)
if name.endswith("()"):
    found = found()


def is_asgi(found):
    call = found if inspect.isfunction(found) else getattr(found, "__call__", None)
    if inspect.iscoroutinefunction(found) or inspect.iscoroutinefunction(call):
        return True
    try:
        parameters = inspect.signature(found).parameters.values()
    except (TypeError, ValueError):
        return False
    needed = [one for one in parameters if one.default is one.empty and one.kind in (0, 1)]
    return len(needed) in (1, 3)


sys.stdout.write("\nhostler-probe %s %s %s\n" % ("asgi" if is_asgi(found) else "wsgi", name, module.__file__))
sys.stdout.flush()
os._exit(0)
