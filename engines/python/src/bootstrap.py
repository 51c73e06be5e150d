# What the interpreter runs first: checks that it is one that the extension is for, loads that from the descriptor at which
# hostler-python has left it, and hands itself over. Up to the check this has to be Python of any version.
import os
import sys

extension, program = sys.argv[1:3]


def refuse(why):
    os.execv("/proc/self/fd/" + program, ["hostler-python", "--refuse", why])


version = "Python %d.%d.%d" % tuple(sys.version_info[:3])
name = getattr(getattr(sys, "implementation", None), "name", "cpython")
if name != "cpython":
    refuse("%s is %s, and only CPython can be used: take another interpreter, or run the application as a FastCGI or "
           "HTTP server of its own" % (sys.executable, name))
if sys.version_info < (3, 9):
    refuse("%s is %s, and 3.9 or later is needed: make the virtual environment anew with a later one"
           % (sys.executable, version))
if "t" in getattr(sys, "abiflags", ""):
    refuse("%s is %s without a lock (free-threaded), for which there is no stable interface: take the usual build"
           % (sys.executable, version))

# "python -c" begins the path with the working directory.
if sys.path and sys.path[0] == "":
    del sys.path[0]
for variable in [name for name in os.environ if name.startswith("HOSTLER_PYTHON")]:
    del os.environ[variable]
from importlib.machinery import ExtensionFileLoader
from importlib.util import module_from_spec, spec_from_loader

loader = ExtensionFileLoader("_hostler", "/proc/self/fd/" + extension)
try:
    module = module_from_spec(spec_from_loader("_hostler", loader))
    loader.exec_module(module)
except ImportError as error:
    refuse("%s (%s) can't load Hostler's extension: %s" % (sys.executable, version, error))
os.close(int(extension))
os.close(int(program))
module.run()
