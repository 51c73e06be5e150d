# Scripts that guard, or choose where others run: how they are asked, and what they mean. Part of the text of support.py, behind
# it.


# What the functions of scripts that guard are called in messages.
GUARDS = {
    "allow_access": "WSGI access script",
    "check_password": "WSGI user authentication script",
    "get_realm_hash": "WSGI user authentication script",
    "groups_for_user": "WSGI group authentication script",
}


def ask(file, name, reloading, environ, *words):
    """Asks a script that guards: what it says, as a word and what belongs to it."""
    try:
        function = getattr(as_it_stands(file, reloading), name, None)
        if function is None:
            say(ERROR, f"Target {GUARDS[name]} '{file}' does not provide '{name}'.")
            return [b"failed"]
        return meaning(name, function(environ, *(word.decode() for word in words)))
    except BaseException as error:
        tell(file, error)
        return [b"failed"]


def as_it_stands(file, reloading):
    """A script's module, loaded anew where another file stands there by now."""
    known = loaded.get(file)
    if reloading and known is not None and known[1] != state_of(file):
        del loaded[file]
    return load(file)


# What the functions of a script that chooses say, in the order in which they are asked.
PLACES = {
    "process_group": "Process group",
    "application_group": "Application group",
    "callable_object": "Callable object",
}


def choose(file, reloading, environ):
    """Asks a script where an application runs and what it is called: None where it does not say; nothing at all: it failed."""
    try:
        module = as_it_stands(file, reloading)
        return [place(getattr(module, name, None), what, environ) for name, what in PLACES.items()]
    except BaseException as error:
        tell(file, error)
        return []


def place(function, what, environ):
    said = None if function is None else function(environ)
    if isinstance(said, str):
        try:
            return said.encode("latin-1")
        except UnicodeEncodeError:
            raise TypeError(f"{what} must be a byte string, value containing non 'latin-1' characters found") from None
    if said is None or isinstance(said, bytes):
        return said
    raise TypeError(f"{what} must be a string object")


def as_bytes(value, what):
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, bytes):
        return value
    raise TypeError(what)


def meaning(name, said):
    """What a function of a script that guards means by what it returns."""
    if name == "groups_for_user":
        what = "Groups for user must be an iterable sequence of strings"
        return [b"groups", *(as_bytes(group, what) for group in said)]
    if said is None:
        return [b"nothing"]
    if name == "get_realm_hash":
        return [b"digest", as_bytes(said, "Digest auth provider must return None or string object")]
    if isinstance(said, bool):
        return [b"yes" if said else b"no"]
    if name == "check_password" and isinstance(said, str):
        return [b"user", said.encode()]
    if name == "check_password":
        raise TypeError("Basic auth provider must return True, False, None or user name as string")
    raise TypeError("Indicator of host accessibility must be a boolean or None")
