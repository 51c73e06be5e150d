#!/usr/bin/env python3
"""Django's command line for this project."""

import os
import sys

from django.core.management import execute_from_command_line

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "houses.settings")
execute_from_command_line(sys.argv)
