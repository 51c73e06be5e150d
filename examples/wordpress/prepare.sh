#!/usr/bin/env bash
# Sets up WordPress on MariaDB below a folder, ready to be served with the httpd.conf that it writes there:
#
#   examples/wordpress/prepare.sh start DIR PORT [USER]   makes DIR, and starts MariaDB in it
#   examples/wordpress/prepare.sh stop DIR                ends MariaDB
#
# WordPress and MariaDB are Debian's packages as they are: those that are installed, else copies below target/oracle, which
# `./setup.sh test` unpacks. Nothing is installed, and MariaDB listens on a socket in DIR alone. USER is whose site it is, and
# who runs MariaDB; needed when root runs this.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
unpacked=$here/../../target/oracle/wordpress

say() { printf 'wordpress: %s\n' "$*" >&2; }

# Where a file of a package is: file PATH
file() {
  if [ -e "$1" ]; then echo "$1"
  elif [ -e "$unpacked$1" ]; then realpath "$unpacked$1"
  else say "$1 is missing: run ./setup.sh test, or install wordpress, mariadb-server and php8.2-mysql"; exit 1; fi
}

as_user() { # as_user COMMAND...: as the site's user
  if [ "$(id -u)" = 0 ]; then setpriv --reuid="$user" --regid="$(group_of)" --clear-groups -- "$@"; else "$@"; fi
}

# The user's group; a number that is nobody's stands for both.
group_of() { id -g "$user" 2>/dev/null || echo "$user"; }

sql() { as_user "$(file /usr/bin/mariadb)" --no-defaults --socket="$dir/run/db.sock" --user=root "$@"; }

start_database() {
  local base daemon
  daemon=$(file /usr/sbin/mariadbd)
  base=$(dirname "$(dirname "$daemon")")
  say 'making the database'
  as_user "$(file /usr/bin/mariadb-install-db)" --no-defaults --basedir="$base" --datadir="$dir/db" \
    --auth-root-authentication-method=normal --skip-test-db >"$dir/db.log" 2>&1 ||
    { tail -n 20 "$dir/db.log" >&2; exit 1; }
  as_user setsid "$daemon" --no-defaults --basedir="$base" --datadir="$dir/db" --socket="$dir/run/db.sock" --skip-networking \
    --pid-file="$dir/run/db.pid" --innodb-buffer-pool-size=32M --innodb-flush-log-at-trx-commit=2 \
    >>"$dir/db.log" 2>&1 </dev/null &
  # Until the server listens.
  for _ in $(seq 300); do
    if sql -e 'SELECT 1' >/dev/null 2>&1; then break; fi
    sleep 0.1
  done
  sql -e "CREATE DATABASE wordpress; CREATE USER 'wordpress'@'localhost' IDENTIFIED BY 'wordpress';
          GRANT ALL ON wordpress.* TO 'wordpress'@'localhost'"
}

write_site() {
  say 'copying WordPress'
  # What links lead to within the package is copied: the site is one folder, as a user would upload it. The two links to the
  # system's own configuration are none of the site's.
  mkdir -p "$dir/site"
  (cd "$(file /usr/share/wordpress)" && tar -ch --exclude=./.htaccess --exclude=./wp-config.php \
    --exclude=./wp-includes/certificates/ca-bundle.crt --exclude=./wp-content/languages -f - .) | tar -x -C "$dir/site" -f -
  mkdir -p "$dir/site/wp-content/uploads"
  cat >"$dir/site/wp-config.php" <<PHP
<?php
define('DB_NAME', 'wordpress');
define('DB_USER', 'wordpress');
define('DB_PASSWORD', 'wordpress');
define('DB_HOST', 'localhost:$dir/run/db.sock');
define('DB_CHARSET', 'utf8mb4');
define('DB_COLLATE', '');
define('AUTH_KEY', 'an example, which nobody else reaches');
define('FS_METHOD', 'direct');
define('WP_HTTP_BLOCK_EXTERNAL', true);
define('WP_ACCESSIBLE_HOSTS', '127.0.0.1,localhost');
\$table_prefix = 'wp_';
if (!defined('ABSPATH')) { define('ABSPATH', __DIR__ . '/'); }
require_once ABSPATH . 'wp-settings.php';
PHP
  cat >"$dir/php.ini" <<INI
log_errors = On
display_errors = Off
output_buffering = 4096
memory_limit = 128M
upload_max_filesize = 8M
opcache.memory_consumption = 64
INI
  for extension in mysqlnd mysqli; do
    if ! php -m 2>/dev/null | grep -ix "$extension" >/dev/null; then
      echo "extension = $(file "$(php-config8.2 --extension-dir)/$extension.so")" >>"$dir/php.ini"
    fi
  done
  sed -e "s|@DIR@|$dir|g" -e "s|@PORT@|$port|g" "$here/httpd.conf.in" >"$dir/httpd.conf"
  if [ "$(id -u)" = 0 ]; then
    chown -R "$user:$(group_of)" "$dir/site"
    printf 'User #%s\nGroup #%s\n' "$(id -u "$user" 2>/dev/null || echo "$user")" "$(group_of)" >>"$dir/httpd.conf"
  fi
}

stop() {
  [ -e "$dir/run/db.pid" ] || return 0
  local pid
  pid=$(cat "$dir/run/db.pid")
  kill "$pid" 2>/dev/null || true
  while kill -0 "$pid" 2>/dev/null; do sleep 0.1; done
}

[ $# -ge 2 ] || { say 'usage: prepare.sh start DIR PORT [USER] | stop DIR'; exit 2; }
dir=$(realpath -m "$2")
case $1 in
  stop) stop ;;
  start)
    port=$3
    user=${4:-}
    [ "$(id -u)" != 0 ] || [ -n "$user" ] || { say 'root names a USER'; exit 2; }
    if [ -e "$dir/site" ]; then say "$dir is there already"; exit 1; fi
    LD_LIBRARY_PATH=$(realpath -m "$unpacked/usr/lib/x86_64-linux-gnu"):$(realpath -m "$unpacked/lib/x86_64-linux-gnu")
    export LD_LIBRARY_PATH
    mkdir -p "$dir/logs" "$dir/db" "$dir/run"
    if [ "$(id -u)" = 0 ]; then chown "$user:$(group_of)" "$dir/db" "$dir/run"; fi
    start_database
    write_site
    say "hostler run -f $dir/httpd.conf, then look at http://127.0.0.1:$port/"
    ;;
  *) say "unknown word $1"; exit 2 ;;
esac
