#!/bin/sh
# Makes Debian packages in target/deb from what `make build` made: packaging/install.sh says what is installed,
# packaging/debian which package it belongs to. Takes debhelper; runs as any user.
#
#   packaging/deb.sh            target/deb/hostler_*.deb and one package for each language
#
# The date in the packages is that of the last commit, so that the same commit gives the same packages. Their maintainer is
# who builds them: DEBFULLNAME and DEBEMAIL, or the author of that commit.
set -eu
cd "$(dirname "$0")/.."

for program in dh dpkg-buildpackage; do
  if ! command -v "$program" >/dev/null; then
    echo "deb: $program is missing: apt-get install debhelper dpkg-dev" >&2
    exit 1
  fi
done
here=$(pwd)
built=${CARGO_TARGET_DIR:-$here/target}
case $built in /*) ;; *) built=$here/$built ;; esac
. /etc/os-release
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -n 1)~${ID}${VERSION_ID}
php=$(php-config8.2 --version 2>/dev/null || php-config --version)
php=$(echo "$php" | cut -d. -f1,2)
perl=$(perl -MConfig -e 'print $Config{debian_abi} || $Config{version}')
maintainer="${DEBFULLNAME:-$(git log -1 --format=%an)} <${DEBEMAIL:-$(git log -1 --format=%ae)}>"
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct 2>/dev/null || date +%s)
export SOURCE_DATE_EPOCH DEB_BUILD_OPTIONS=noautodbgsym CARGO_TARGET_DIR="$built"

out=target/deb
source=$out/hostler
rm -rf "$out"
mkdir -p "$source/docs"
cp -R packaging README.md CHANGELOG.md LICENSE "$source/"
cp docs/*.md "$source/docs/"
mv "$source/packaging/debian" "$source/debian"

# Debian 13 and later have units in /usr/lib alone.
units=lib/systemd/system
if [ "$ID" = debian ] && [ "$VERSION_ID" -gt 12 ]; then units=usr/lib/systemd/system; fi
sed -i "s|@UNITS@|$units|" "$source/debian/hostler.install"
sed "s|@PHP@|$php|g; s|@PERL@|$perl|; s|@MAINTAINER@|$maintainer|" "$source/debian/control.in" > "$source/debian/control"
rm "$source/debian/control.in"
mv "$source/debian/hostler-php.install" "$source/debian/hostler-php$php.install"
mkdir -p "$source/debian/source"
echo '3.0 (native)' > "$source/debian/source/format"
cat > "$source/debian/changelog" <<END
hostler ($version) unstable; urgency=medium

  * The changes are in /usr/share/doc/hostler/changelog.gz.

 -- $maintainer  $(date -R -u -d "@$SOURCE_DATE_EPOCH")
END

# Each crate in the programs, with its version, licence and the texts that it comes with.
licences() {
  registry=${CARGO_HOME:-$HOME/.cargo}/registry/src
  cargo tree --edges normal --prefix none --format '{p}|{l}' | sed 's/ (.*)|/|/; s/ (\*)$//' | sort -u |
    grep -v '^hostler' | while IFS='|' read -r crate licence; do
    if [ -z "$crate" ]; then continue; fi
    printf '\n%s\nLicence: %s\n' "$crate" "$licence"
    folder=$(echo "$crate" | sed 's/ v/-/')
    for text in "$registry"/*/"$folder"/LICEN[CS]E* "$registry"/*/"$folder"/COPYING*; do
      if [ -f "$text" ]; then sed 's/^/  /' "$text"; fi
    done
  done
}
licences > "$source/third-party-licences"
echo 'third-party-licences usr/share/doc/hostler' >> "$source/debian/hostler.install"

(cd "$source" && dpkg-buildpackage --build=binary --unsigned-changes --unsigned-source)
rm -rf "$source"
ls -l "$out"/*.deb
