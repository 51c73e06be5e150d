# Scripts that guard: how they are asked, and what they mean. Part of the text of support.py, behind it.


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
        known = loaded.get(file)
        if reloading and known is not None and known[1] != state_of(file):
            del loaded[file]
        function = getattr(load(file), name, None)
        if function is None:
            say(ERROR, f"Target {GUARDS[name]} '{file}' does not provide '{name}'.")
            return [b"failed"]
        return meaning(name, function(environ, *(word.decode() for word in words)))
    except BaseException as error:
        tell(file, error)
        return [b"failed"]


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
