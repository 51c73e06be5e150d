#!/bin/sh
printf 'Content-Type: text/plain\n\n'
printf '%s;%s' "$QUERY_STRING" "$PATH_INFO"
