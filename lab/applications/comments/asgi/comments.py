"""The comments as an ASGI application: the worker keeps the connection, and the page goes to the server in one piece. The
query is short, so the event loop waits for it rather than hand it to a thread.

The file is an ASCII text that Python 3.9 and later read; what stands in the file dsn is what Perl's DBI writes.
"""

import os
import re
from urllib.parse import unquote_to_bytes

LONGEST = 65536
HEAD = """<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><title>Comments</title></head>
<body>
<h1>Comments</h1>
<table>
<tr><th>Name</th><th>Email</th><th>Comments</th></tr>
"""
FOOT = """</table>
<form method="post">
<p><label>Name <input name="name" required></label></p>
<p><label>Email <input name="email" type="email"></label></p>
<p><label>Comments <textarea name="comments" required></textarea></label></p>
<p><button>Send</button></p>
</form>
</body>
</html>
"""
ROWS = re.compile(r"(?:^|&)rows=([0-9]{1,9})(?:&|$)")
ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;"})
TEXT = (b"content-type", b"text/plain")
with open(os.path.join(os.path.dirname(__file__), "dsn")) as file:
    DSN = file.read()
kept = None


def connect(dsn):
    _, driver, address = dsn.split(":", 2)
    if driver == "Pg":
        import psycopg2

        connection = psycopg2.connect(address.replace(";", " "))
        connection.autocommit = True
        return connection, "%s"
    import sqlite3

    return sqlite3.connect(address[len("dbname=") :], timeout=5, isolation_level=None), "?"


def database():
    global kept
    if kept is None:
        kept = connect(DSN)
    return kept


def page(query):
    connection, mark = database()
    asked = ROWS.search(query)
    cursor = connection.cursor()
    # Without an order: both databases give the rows of this table as they were inserted.
    cursor.execute("SELECT * FROM comments LIMIT " + mark, (int(asked[1]) if asked else 999999999,))
    rows = [
        "<tr><td>" + "</td><td>".join([value.translate(ESCAPES) for value in row]) + "</td></tr>\n"
        for row in cursor.fetchall()
    ]
    return (HEAD + "".join(rows) + FOOT).encode()


def insert(body):
    """False if it is no form, or lacks a name or a comment."""
    fields = {}
    for part in body.split(b"&"):
        name, _, value = part.partition(b"=")
        fields[unquote_to_bytes(name.replace(b"+", b" "))] = unquote_to_bytes(value.replace(b"+", b" "))
    try:
        values = [fields.get(name, b"").decode() for name in (b"name", b"email", b"comments")]
    except UnicodeDecodeError:
        return False
    if not values[0] or not values[2] or any("\0" in value for value in values):
        return False
    connection, mark = database()
    statement = "INSERT INTO comments (name, email, comments) VALUES (?, ?, ?)".replace("?", mark)
    connection.cursor().execute(statement, values)
    return True


async def read(receive):
    """The request's body; None: it is too long."""
    body, more = b"", True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        body += message.get("body", b"")
        if len(body) > LONGEST:
            return None
        more = message.get("more_body", False)
    return body


async def answer(send, status, headers, body):
    headers = [*headers, (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def application(scope, receive, send):
    if scope["type"] != "http":
        raise ValueError(scope["type"])
    if scope["method"] != "POST":
        text = page(scope["query_string"].decode("latin-1"))
        await answer(send, 200, [(b"content-type", b"text/html; charset=utf-8")], text)
        return
    body = await read(receive)
    if body is None:
        await answer(send, 413, [TEXT], b"413 Content Too Large\n")
    elif not insert(body):
        await answer(send, 400, [TEXT], b"400 Bad Request\n")
    else:
        await answer(send, 303, [(b"location", scope["path"].encode()), TEXT], b"Thank you\n")
