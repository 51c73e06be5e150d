#!/bin/sh
# The smallest useful CGI program: a header, an empty line, a page.
echo "Content-Type: text/html; charset=utf-8"
echo
echo "<p>Hello from process $$,"
echo "which runs as uid $(id -u), gid $(id -g),"
echo "in <code>$(pwd)</code>,"
echo "for a request by $REQUEST_METHOD.</p>"
