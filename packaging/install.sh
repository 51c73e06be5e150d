#!/bin/sh
# Copies what `make build` made below $DESTDIR$PREFIX. Builds nothing and needs no Rust, so that it can run as
# root or under a packager's fake root. Man pages and completions are printed by the program itself.
#
#   bin/hostler                    the operator's command, a link into
#   lib/hostler/                   all programs: the command finds the others beside itself; and Java's archive of classes
#   share/man, share/bash-completion, ...   manual and completions
#   lib/systemd/system/hostler.service      a unit to start from; it is not enabled
#
# And, where it may: $DESTDIR/etc/hostler/httpd.conf and $DESTDIR/etc/logrotate.d/hostler, unless they are there, and
# $DESTDIR/var/log/hostler for its logs.
set -eu
cd "$(dirname "$0")/.."
prefix=${PREFIX:-/usr/local}
root=${DESTDIR:-}$prefix
built=${CARGO_TARGET_DIR:-target}/release

programs="hostler hostler-master hostler-front hostler-site hostler-perl hostler-php hostler-python hostler-servlet"
for program in $programs; do
  if [ ! -x "$built/$program" ]; then
    echo "install: $built/$program is missing: run 'make build' first" >&2
    exit 1
  fi
done

install -d "$root/bin" "$root/lib/hostler" "$root/lib/systemd/system" "$root/share/doc/hostler"
for program in $programs; do install -m 755 "$built/$program" "$root/lib/hostler/"; done
# Further versions of PHP, where there are some.
for program in "$built"/hostler-php[0-9].[0-9] "$built"/hostler-php[0-9].[0-9][0-9]; do
  if [ -x "$program" ]; then install -m 755 "$program" "$root/lib/hostler/"; fi
done
ln -sf ../lib/hostler/hostler "$root/bin/hostler"
# What Java takes to start, prepared once; without Java, or a Tomcat, there is nothing to prepare.
rm -f "$root/lib/hostler/hostler-servlet.jsa"
"$root/lib/hostler/hostler-servlet" --archive >/dev/null || true
sed "s|@PREFIX@|$prefix|g" packaging/hostler.service > "$root/lib/systemd/system/hostler.service"
chmod 644 "$root/lib/systemd/system/hostler.service"
install -d "$root/share/hostler/welcome"
install -m 644 packaging/index.html "$root/share/hostler/welcome/"
sed "s|@PREFIX@|$prefix|g" packaging/httpd.conf > "$root/share/doc/hostler/httpd.conf"
chmod 644 "$root/share/doc/hostler/httpd.conf"
install -m 644 README.md CHANGELOG.md LICENSE docs/first-site.md docs/moving-from-mod_perl.md docs/perl-calls.md "$root/share/doc/hostler/"

printed=$(mktemp -d)
trap 'rm -rf "$printed"' EXIT
"$built/hostler" docs "$printed"

copy() { # copy FOLDER FILE...
  folder=$1
  shift
  install -d "$root/$folder"
  install -m 644 "$@" "$root/$folder/"
}
copy share/doc/hostler "$printed/directives.md"
copy share/man/man1 "$printed"/man/*.1
copy share/zsh/site-functions "$printed/completions/_hostler"
copy share/fish/vendor_completions.d "$printed/completions/hostler.fish"
install -D -m 644 "$printed/completions/hostler.bash" "$root/share/bash-completion/completions/hostler"
echo "installed below $root"

# The configuration is the administrator's: what is there stays.
etc=${DESTDIR:-}/etc
if [ -n "${DESTDIR:-}" ]; then mkdir -p "$etc"; fi
if [ -w "$etc" ]; then
  install -d "$etc/hostler" "$etc/hostler/sites" "${DESTDIR:-}/var/log/hostler"
  if [ -e "$etc/hostler/httpd.conf" ]; then
    echo "$etc/hostler/httpd.conf is left as it is"
  else
    install -m 644 "$root/share/doc/hostler/httpd.conf" "$etc/hostler/httpd.conf"
  fi
  if [ ! -e "$etc/logrotate.d/hostler" ]; then
    install -D -m 644 packaging/logrotate/hostler "$etc/logrotate.d/hostler"
  fi
else
  echo "not root: the sample configuration is $root/share/doc/hostler/httpd.conf; the service wants it as" \
    "/etc/hostler/httpd.conf, and a folder /var/log/hostler"
fi
if [ -z "${DESTDIR:-}" ]; then
  cat <<END
To start the service, as root:
  $prefix/bin/hostler check -f /etc/hostler/httpd.conf
  systemctl daemon-reload
  systemctl enable --now hostler
With the sample configuration it serves http://localhost:8080/
END
fi
