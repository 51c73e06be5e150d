# What the interpreter of ASGI programs runs first: checks that it is one that the modules are for, takes those from the
# descriptor at which hostler-python has left them, and hands itself over. Up to the check this has to be Python of any
# version. The rest is plain Python, so any implementation will do, with a lock or without one; those that can load the
# extension at the other descriptor are faster.
import os
import sys

modules, extension = int(sys.argv[1]), int(sys.argv[2])

if sys.version_info < (3, 9):
    sys.stderr.write(
        "%s is Python %d.%d.%d, and 3.9 or later is needed: make the virtual environment anew with a later one\n"
        % ((sys.executable,) + tuple(sys.version_info[:3]))
    )
    os._exit(78)

# "python -c" begins the path with the working directory.
if sys.path and sys.path[0] == "":
    del sys.path[0]
for variable in [name for name in os.environ if name.startswith("HOSTLER_PYTHON")]:
    del os.environ[variable]

import types

PACKAGE = "_hostler_asgi"
package = types.ModuleType(PACKAGE)
package.__path__ = []
sys.modules[PACKAGE] = package
with open("/proc/self/fd/%d" % modules, "rb") as source:
    while True:
        name, _, length = source.readline().decode().rstrip("\n").partition(" ")
        if not name:
            break
        module = types.ModuleType(PACKAGE + "." + name)
        module.__package__ = PACKAGE
        sys.modules[module.__name__] = module
        setattr(package, name, module)
        exec(compile(source.read(int(length)), "hostler/%s.py" % name, "exec"), module.__dict__)

package.main.main((modules, extension), sys.argv[3:])
