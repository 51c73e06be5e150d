#!/bin/sh
# Fails as programs do: prints no header, complains on standard error, ends with a failure.
echo "this is not a header, and the database is away" >&2
exit 3
