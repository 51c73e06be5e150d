# Lines for the ErrorLog that know how grave they are: a byte and syslog's number stand before them, as in the kernel's log.
# What has none is an error.
import sys

ERROR, WARN, NOTICE, INFO = 3, 4, 5, 6


def say(severity, text):
    sys.stderr.write(f"\x01{severity}{text}\n")
    sys.stderr.flush()
