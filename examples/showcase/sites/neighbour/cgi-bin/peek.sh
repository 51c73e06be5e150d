#!/bin/sh
# Tries what a curious tenant would try: look into the data of the site next door.
echo "Content-Type: text/html; charset=utf-8"
echo
if said=$(ls -l "$GUESTBOOK_DB" 2>&1); then
  echo "<p>It can, because this server runs single-user: the sites share one user.</p>"
elif [ "${said%No such file or directory}" != "$said" ]; then
  echo "<p>Nobody has opened the guest book yet, so there is nothing to read.</p>"
else
  echo "<p>It cannot. The system says:</p>"
fi
echo "<pre>\$ ls -l $GUESTBOOK_DB"
echo "$said" | sed 's/&/\&amp;/g; s/</\&lt;/g'
echo "</pre>"
