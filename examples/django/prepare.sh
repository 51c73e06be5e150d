#!/usr/bin/env bash
# Sets up the Django project of this folder below another one, in a virtual environment of its own, ready to be served with
# the httpd.conf that it writes there:
#
#   examples/django/prepare.sh DIR PORT [USER]
#
# USER is whose site it is; needed when root runs this. The project's environment is made with PYTHON (/usr/bin/python3), and
# Django comes from PyPI by pip. The database is SQLite; with
# DATABASE='host=/run/postgresql dbname=houses user=houses password=...' it is that one of PostgreSQL's.
# The administrator's name is admin; DJANGO_SUPERUSER_PASSWORD is the password, else one is made and printed.
set -euo pipefail
umask 022

here=$(cd "$(dirname "$0")" && pwd)
python=${PYTHON:-/usr/bin/python3}
database=${DATABASE:-}

say() { printf 'django: %s\n' "$*" >&2; }

as_user() { # as_user COMMAND...: as the site's user
  if [ "$(id -u)" = 0 ]; then setpriv --reuid="$user" --regid="$(group_of)" --clear-groups -- "$@"; else "$@"; fi
}

# The user's group; a number that is nobody's stands for both.
group_of() { id -g "$user" 2>/dev/null || echo "$user"; }

manage() { # manage WORDS...: Django's command line, as the site's user
  (cd "$dir/data" && HOME=$dir/data DJANGO_DATA=$dir/data as_user "$dir/environment/bin/python" "$dir/project/manage.py" "$@")
}

make_environment() {
  local packages=('django==5.*')
  [ -z "$database" ] || packages+=('psycopg[binary]==3.*')
  say "making the environment with $python"
  "$python" -m venv "$dir/environment" ||
    { say 'it can not be made (Debian and Ubuntu: python3-venv)'; exit 1; }
  "$dir/environment/bin/python" -m pip install --quiet --disable-pip-version-check "${packages[@]}" >&2
}

# settings.json: a secret of this installation's own, and the database.
write_settings() {
  DATABASE=$database "$dir/environment/bin/python" - "$dir/data" >"$dir/data/settings.json.new" <<'PYTHON'
import json
import os
import secrets
import shlex
import sys

words = dict(word.split("=", 1) for word in shlex.split(os.environ["DATABASE"]))
if words:
    names = {"dbname": "NAME", "user": "USER", "password": "PASSWORD", "host": "HOST", "port": "PORT"}
    unknown = sorted(set(words) - set(names))
    if unknown:
        sys.exit(f"django: DATABASE knows {', '.join(names)}, and not {', '.join(unknown)}")
    database = {"ENGINE": "django.db.backends.postgresql", **{names[name]: words[name] for name in words}}
else:
    database = {"ENGINE": "django.db.backends.sqlite3", "NAME": f"{sys.argv[1]}/db.sqlite3"}
hosts = ["localhost", "127.0.0.1"]
json.dump({"secret": secrets.token_urlsafe(50), "hosts": hosts, "database": database}, sys.stdout, indent=2)
PYTHON
  chmod 600 "$dir/data/settings.json.new"
  mv "$dir/data/settings.json.new" "$dir/data/settings.json"
}

main() {
  [ $# -ge 2 ] || { say 'usage: prepare.sh DIR PORT [USER]'; exit 2; }
  dir=$(realpath -m "$1")
  port=$2
  user=${3:-}
  [ "$(id -u)" != 0 ] || [ -n "$user" ] || { say 'root names a USER'; exit 2; }
  if [ -e "$dir/project" ]; then say "$dir is there already"; exit 1; fi
  mkdir -p "$dir/logs" "$dir/data/media"
  cp -R "$here/project" "$dir/project"
  chmod -R u=rwX,go=rX "$dir/project"
  make_environment
  write_settings
  if [ "$(id -u)" = 0 ]; then
    chmod 700 "$dir/data"
    chown -R "$user:$(group_of)" "$dir/data"
  fi
  manage migrate --verbosity 0
  # Files that nobody but who sets this up may change.
  mkdir "$dir/static"
  if [ "$(id -u)" = 0 ]; then chown "$user:$(group_of)" "$dir/static"; fi
  manage collectstatic --noinput --verbosity 0
  if [ "$(id -u)" = 0 ]; then chown -hR 0:0 "$dir/static"; fi
  if [ -z "${DJANGO_SUPERUSER_PASSWORD:-}" ]; then
    DJANGO_SUPERUSER_PASSWORD=$("$dir/environment/bin/python" -c 'import secrets; print(secrets.token_urlsafe(12))')
    say "the administrator is admin, with the password $DJANGO_SUPERUSER_PASSWORD"
  fi
  export DJANGO_SUPERUSER_PASSWORD
  manage createsuperuser --noinput --username admin --email admin@localhost >/dev/null
  sed -e "s|@DIR@|$dir|g" -e "s|@PORT@|$port|g" "$here/httpd.conf.in" >"$dir/httpd.conf"
  if [ "$(id -u)" = 0 ]; then
    printf 'User #%s\nGroup #%s\n' "$(id -u "$user" 2>/dev/null || echo "$user")" "$(group_of)" >>"$dir/httpd.conf"
  fi
  say "hostler run -f $dir/httpd.conf, then look at http://127.0.0.1:$port/"
}

main "$@"
