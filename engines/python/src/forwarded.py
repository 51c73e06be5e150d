# What a proxy in front says of the client, where the configuration believes it (WSGITrustedProxyHeaders): the variables in which
# applications look for such things are set by it. Part of the text of support.py, behind it.


def client_of(environ, field, value, proxies):
    """Several proxies add their names at the end; the one before those that are believed is the client's."""
    names = [name for name in (part.strip() for part in value.split(",")) if name]
    if not names:
        return
    if proxies is None:
        environ["REMOTE_ADDR"] = names[0]
        return
    first = len(names)
    while first and is_of(names[first - 1], proxies):
        first -= 1
    client = max(0, first - 1)
    environ["REMOTE_ADDR"] = names[client]
    environ[field] = ", ".join(names[client:])


def verbatim(*variables):
    def set_to(environ, _, value, __):
        for variable in variables:
            environ[variable] = value

    return set_to


def scheme(secure, plain):
    def set_to(environ, _, value, __):
        if value.lower() in secure:
            environ["HTTPS"] = "1"
        elif value.lower() in plain:
            environ.pop("HTTPS", None)

    return set_to


by_name, by_flag = scheme({"https"}, {"http"}), scheme({"on", "true", "1"}, {"off", "false", "0"})
script = verbatim("mod_wsgi.mount_point", "SCRIPT_NAME")
# Each kind of fact with the variables that tell of it; VARIABLES of hostler-python-frames has them, too.
FORWARDED = (
    {"HTTP_X_FORWARDED_FOR": client_of, "HTTP_X_CLIENT_IP": verbatim("REMOTE_ADDR"), "HTTP_X_REAL_IP": verbatim("REMOTE_ADDR")},
    {"HTTP_X_FORWARDED_HOST": verbatim("HTTP_HOST"), "HTTP_X_HOST": verbatim("HTTP_HOST")},
    {"HTTP_X_FORWARDED_SERVER": verbatim("SERVER_NAME")},
    {"HTTP_X_FORWARDED_PORT": verbatim("SERVER_PORT")},
    {"HTTP_X_SCRIPT_NAME": script, "HTTP_X_FORWARDED_SCRIPT_NAME": script},
    {
        "HTTP_X_FORWARDED_PROTO": by_name,
        "HTTP_X_FORWARDED_SCHEME": by_name,
        "HTTP_X_SCHEME": by_name,
        "HTTP_X_FORWARDED_HTTPS": by_flag,
        "HTTP_X_FORWARDED_SSL": by_flag,
        "HTTP_X_HTTPS": by_flag,
    },
)
networks = {}


def is_of(text, proxies):
    """Whether an address is one of those networks: words of `version:address:mask`."""
    import ipaddress

    if proxies not in networks:
        networks.clear()
        words = (word.split(":") for word in proxies.split())
        networks[proxies] = [(int(version), int(address, 16), int(mask, 16)) for version, address, mask in words]
    try:
        found = ipaddress.ip_address(text)
    except ValueError:
        return False
    found = getattr(found, "ipv4_mapped", None) or found
    return any(found.version == version and int(found) & mask == address for version, address, mask in networks[proxies])


def forwarded(environ, fields, proxies=None):
    """Changes an environment by the fields that are believed. Of each kind only the last that is there is left over."""
    is_believed = proxies is None or is_of(environ["REMOTE_ADDR"], proxies)
    fields = fields.split()
    for kind in FORWARDED:
        named = [field for field in fields if field in kind]
        if not named:
            continue
        winner = None
        for field in named:
            if is_believed and field in environ:
                kind[field](environ, field, environ[field], proxies)
                winner = field
        for field in kind:
            if field != winner:
                environ.pop(field, None)
