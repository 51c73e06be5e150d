"""The comments as a WSGI application: the connection is kept by the thread, and the page goes to the server in one piece.

The file is an ASCII text that Python 3.9 and later read; COMMENTS_DSN is what Perl's DBI writes.
"""

import os
import re
import threading
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
TEXT = [("Content-Type", "text/plain")]
DSN = os.environ.get("COMMENTS_DSN")
kept = threading.local()


def connect(dsn):
    _, driver, address = dsn.split(":", 2)
    if driver == "Pg":
        import psycopg2

        connection = psycopg2.connect(address.replace(";", " "))
        connection.autocommit = True
        return connection, "%s"
    import sqlite3

    return sqlite3.connect(address[len("dbname=") :], timeout=5, isolation_level=None), "?"


def database(environ):
    if not hasattr(kept, "database"):
        kept.database = connect(environ.get("COMMENTS_DSN") or DSN)
    return kept.database


def page(environ):
    connection, mark = database(environ)
    asked = ROWS.search(environ.get("QUERY_STRING", ""))
    cursor = connection.cursor()
    # Without an order: both databases give the rows of this table as they were inserted.
    cursor.execute("SELECT * FROM comments LIMIT " + mark, (int(asked[1]) if asked else 999999999,))
    rows = [
        "<tr><td>" + "</td><td>".join([value.translate(ESCAPES) for value in row]) + "</td></tr>\n"
        for row in cursor.fetchall()
    ]
    return (HEAD + "".join(rows) + FOOT).encode()


def insert(environ, body):
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
    connection, mark = database(environ)
    statement = "INSERT INTO comments (name, email, comments) VALUES (?, ?, ?)".replace("?", mark)
    connection.cursor().execute(statement, values)
    return True


def application(environ, start_response):
    if environ["REQUEST_METHOD"] != "POST":
        answer = page(environ)
        start_response(
            "200 OK", [("Content-Type", "text/html; charset=utf-8"), ("Content-Length", str(len(answer)))]
        )
        return [answer]
    length = int(environ.get("CONTENT_LENGTH") or 0)
    if length > LONGEST:
        start_response("413 Content Too Large", TEXT)
        return [b"413 Content Too Large\n"]
    if not insert(environ, environ["wsgi.input"].read(length)):
        start_response("400 Bad Request", TEXT)
        return [b"400 Bad Request\n"]
    start_response("303 See Other", [("Location", environ["SCRIPT_NAME"] + environ["PATH_INFO"]), *TEXT])
    return [b"Thank you\n"]
