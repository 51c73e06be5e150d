#!/bin/sh
printf 'Location: http://example.com/?a=1&b=<2>\n\n'
