#!/bin/sh
# Lays the showcase out in FOLDER as a hosting machine would have it: sites, logs, and a folder for what the
# programs write, outside every document root. As root each site's files belong to its own numeric user and
# are closed to all others; otherwise everything stays the caller's. A second run renews the sites and keeps
# the data.
#
#   ./prepare.sh FOLDER
set -eu
umask 022
here=$(cd "$(dirname "$0")" && pwd)
folder=${1:?usage: prepare.sh FOLDER}

mkdir -p "$folder/logs" "$folder/data"
chmod 755 "$folder" "$folder/logs" "$folder/data"
# The old sites belong to tenants, who may have put links in the way: nothing is written into them.
rm -rf "$folder/sites"
cp -R "$here/sites" "$folder/sites"
# What the other sites share with the first one, they have as their own copy.
for site in neighbour old; do
  mkdir -p "$folder/sites/$site/cgi-bin"
  cp "$folder/sites/start/htdocs/style.css" "$folder/sites/$site/htdocs/"
  cp "$folder/sites/start/cgi-bin/whoami.sh" "$folder/sites/$site/cgi-bin/"
done
cp "$folder/sites/start/cgi-bin/source.pl" "$folder/sites/old/cgi-bin/"
cp "$folder/sites/start/htdocs/errors/no-perl.html" "$folder/sites/old/htdocs/"
# The members of the balancer: one program under two names, so that each has a process of its own.
for member in one two; do
  cp "$folder/sites/start/fastcgi/visits.fcgi" "$folder/sites/start/fastcgi/$member.fcgi"
done
cp "$here/httpd.conf" "$here/apache.conf" "$folder/"
chmod -R u=rwX,go=rX "$folder/sites"

own() { # own SITE UID
  [ -d "$folder/data/$1" ] || install -d -m 700 "$folder/data/$1"
  if [ "$(id -u)" = 0 ]; then
    chown -hR "$2:$2" "$folder/sites/$1"
    chmod 700 "$folder/sites/$1"
    # Not -R: what is inside is the tenant's already.
    chown -h "$2:$2" "$folder/data/$1"
  fi
}
own start 64101
own neighbour 64102
own old 64103
