#!/bin/sh
# Says as whom this site runs; the start pages include it. SITE_UID comes from httpd.conf (SetEnv).
uid=$(id -u)
echo "Content-Type: text/html; charset=utf-8"
echo
if [ "$uid" = "$SITE_UID" ]; then
  echo "<strong>This site runs as uid $uid.</strong>"
  echo "Its files are closed to every other site, and to the process that speaks HTTP."
else
  echo "<strong>Single-user: everything runs as uid $uid.</strong>"
  echo "Hostler was not started as root, so the sites are not separated. As root, each would have its own user."
fi
