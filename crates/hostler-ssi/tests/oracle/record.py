#!/usr/bin/env python3
"""Runs the inputs of cases.txt through the installed Apache and writes its outputs back into the file.

Needs root, apache2 and a free port. cases.txt is for people: an input between "=== name options" and
"--- log=errors,warnings", then what Apache answered. Options: legacy, noexec, percent (SSIStartTag and
SSIEndTag are %%), query=..., info=... (path information), hex (\\xNN in the input is a byte). In the
outputs a byte that is not UTF-8 or a control character is written \\xNN. Log counts are mod_include's and
mod_cgi's own messages.
"""
import http.client, os, pathlib, re, shutil, socket, subprocess, tempfile, time

HERE = pathlib.Path(__file__).parent
MODIFIED = 1709208003
CONF = """
ServerRoot {root}
ServerName ssi.test
ServerTokens Prod
ServerAdmin admin@ssi.test
{listen}
PidFile {root}/pid
ErrorLog {root}/error
ErrorLogFormat "[%m:%l] %M"
LogLevel warn
{modules}
User www-data
Group www-data
StartServers 1
TypesConfig /dev/null
AddType text/html .shtml
AddType text/plain .txt
AddType image/gif .gif
AddOutputFilter INCLUDES .shtml
AddHandler cgi-script .cgi
DocumentRoot {root}/docs
AcceptPathInfo On
<Directory />
  Require all granted
  Options Includes ExecCGI
</Directory>
<Directory {root}/docs/legacy>
  SSILegacyExprParser on
</Directory>
<Directory {root}/docs/noexec>
  Options IncludesNOEXEC ExecCGI
</Directory>
<Location /denied>
  Require all denied
</Location>
<VirtualHost *:{percent}>
  SSIStartTag %%
  SSIEndTag %%
</VirtualHost>
"""
MODULES = ["mpm_prefork", "authz_core", "mime", "include", "cgi", "dir", "env"]


def read_cases():
    cases = []
    for block in re.split(r"(?m)^=== ", (HERE / "cases.txt").read_text())[1:]:
        head, rest = block.split("\n", 1)
        page = re.split(r"(?m)^--- ", rest)[0]
        cases.append((head, page.removesuffix("\n")))
    return cases


def as_bytes(page, options):
    data = page.encode()
    if "hex" in options:
        data = re.sub(rb"\\x([0-9a-f]{2})", lambda m: bytes([int(m[1], 16)]), data)
    return data


def shown(data):
    text = data.decode("utf-8", "surrogateescape")
    hexed = lambda c: "\\x%02x" % (ord(c) & 0xFF) if (c < " " and c != "\n") or "\udc80" <= c <= "\udcff" or c == "\x7f" else c
    return "".join(map(hexed, text))


def prepare(root):
    for folder in ["plain", "legacy", "noexec", "percent"]:
        shutil.copytree(HERE / "files", root / "docs" / folder)
        for size in [0, 972, 973, 1536, 10188, 10189, 1234567]:
            with open(root / "docs" / folder / f"size-{size}", "wb") as file:
                file.truncate(size)
    for path in root.rglob("*"):
        os.utime(path, (MODIFIED, MODIFIED))


def folder_of(options):
    return next((o for o in options if o in ("legacy", "noexec", "percent")), "plain")


def ask(root, ports, head, page):
    name, *options = head.split()
    values = dict(o.split("=", 1) for o in options if "=" in o)
    folder = folder_of(options)
    path = root / "docs" / folder / f"{name}.shtml"
    path.write_bytes(as_bytes(page, options))
    os.utime(path, (MODIFIED, MODIFIED))
    log = root / "error"
    before = log.stat().st_size
    connection = http.client.HTTPConnection("127.0.0.1", ports[folder == "percent"], timeout=10)
    query = "?" + values["query"] if "query" in values else ""
    connection.putrequest("GET", f"/{folder}/{name}.shtml{values.get('info', '')}{query}", skip_host=True, skip_accept_encoding=True)
    for field in [("Host", "ssi.test"), ("User-Agent", "case"), ("Cookie", "c=1")]:
        connection.putheader(*field)
    connection.endheaders()
    try:
        body = connection.getresponse().read()
    except http.client.RemoteDisconnected:
        body = b"Apache crashed."
    path.unlink()
    time.sleep(0.02)
    messages = log.read_bytes()[before:].decode(errors="replace")
    counts = [len(re.findall(rf"(?m)^\[(?:include|cgi):{level}\]", messages)) for level in ("error", "warn")]
    text = shown(body).replace(str(root / "docs"), "/docs")
    text = re.sub(r"REMOTE_PORT=\d+", "REMOTE_PORT=1", text)
    text = re.sub(r"SERVER_PORT=\d+", "SERVER_PORT=1", text)
    return f"=== {head}\n{page}\n--- log={counts[0]},{counts[1]}\n{text}\n"


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def main():
    head = (HERE / "cases.txt").read_text().split("\n=== ", 1)[0]
    root = pathlib.Path(tempfile.mkdtemp(prefix="ssi-oracle-"))
    root.chmod(0o755)
    prepare(root)
    ports = [free_port(), free_port()]
    modules = "\n".join(f"LoadModule {m}_module /usr/lib/apache2/modules/mod_{m}.so" for m in MODULES)
    listen = "\n".join(f"Listen 127.0.0.1:{p}" for p in ports)
    (root / "conf").write_text(CONF.format(root=root, listen=listen, modules=modules, percent=ports[1]))
    environment = {"PATH": "/usr/bin:/bin", "TZ": "UTC", "LC_ALL": "C"}
    server = subprocess.Popen(["/usr/sbin/apache2", "-f", root / "conf", "-DFOREGROUND"], env=environment, start_new_session=True)
    try:
        time.sleep(1.5)
        out = [ask(root, ports, *case) for case in read_cases()]
        (HERE / "cases.txt").write_text(head + "\n" + "".join(out))
    finally:
        server.terminate()
        server.wait()
        shutil.rmtree(root)


main()
