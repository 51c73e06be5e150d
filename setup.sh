#!/usr/bin/env bash
# Installs the Debian or Ubuntu packages that a make target needs, and says what each is for.
#
#   ./setup.sh build|run|test|bench      (make calls it; without an argument: run)
#   ./setup.sh cargo                     prints which cargo to build with; installs nothing
#
# It needs root only for installing. Without root it uses sudo where there is one, and says so; without
# either it names what is missing and goes on with what can be built. Nothing is started: Apache and nginx
# serve only as measuring sticks, run by the tests themselves. So only packages without a service unit are
# installed; of the others (`apache2` for its configuration files, `nginx`, PostgreSQL) a copy is unpacked
# below target/oracle. A second run finds nothing to do and takes a fraction of a second.
set -euo pipefail
cd "$(dirname "$0")"
PATH=$PATH:/usr/sbin:/sbin
goal=${1:-run}

# goal | probe | package | why
# Probes: cmd: a command, pc: a pkg-config module, perl: a Perl module, lib: a library, file: a file.
table() {
  cat <<'TABLE'
build|cmd:cc|gcc|links the programs and compiles the C parts of two dependencies
build|file:/usr/include/stdlib.h|libc6-dev|the C library's headers and start files, for the linker
build|cmd:make|make|runs the targets of the Makefile
build|cmd:pkg-config|pkg-config|finds PCRE2
build|pc:libpcre2-8|libpcre2-dev|Apache's regular expressions (without it a bundled copy is compiled)
build|perl:ExtUtils::Embed|perl|the Perl engine is built for the system's perl
build|libperl|libperl-dev|the Perl engine is linked with it (without this the other techniques are built)
build|file:/usr/bin/php-config8.2|php8.2-dev|the PHP engine is compiled with its headers (without this the other techniques are built)
build|lib:libphp8.2.so|libphp8.2-embed|PHP itself, as a library (the same)
build|opcache|php8.2-opcache|PHP's cache of compiled scripts
run|perl:strict|perl|the showcase's CGI programs
run|perl:CGI|libcgi-pm-perl|the guest book reads its form with CGI.pm
run|perl:DBD::SQLite|libdbd-sqlite3-perl|the guest book keeps its entries in SQLite
run|file:/usr/lib/php/20220829/pdo_sqlite.so|php8.2-sqlite3|the guest book in PHP keeps its entries in SQLite
run|file:/usr/bin/python3|python3|the showcase's applications in Python
test|file:/usr/sbin/logrotate|logrotate|rotates the logs of a server under load
test|cmd:curl|curl|the README's commands are run as tests
test|cmd:apache2|apache2-bin|every conformance case runs against the real Apache first
test|cmd:htpasswd|apache2-utils|writes the password files that the tests read
test|file:/usr/lib/apache2/modules/mpm_itk.so|libapache2-mpm-itk|AssignUserID as Apache knows it
test|file:/usr/lib/apache2/modules/mod_fcgid.so|libapache2-mod-fcgid|packaged configurations that ask for it
test|file:/usr/lib/apache2/modules/mod_jk.so|libapache2-mod-jk|mod_jk's own answers, before ours
test|file:/usr/lib/apache2/modules/mod_perl.so|libapache2-mod-perl2|mod_perl's own answers, before ours
test|file:/usr/lib/apache2/modules/libphp8.2.so|libapache2-mod-php8.2|mod_php's own answers, before ours
test|cmd:javac|openjdk-17-jdk-headless|the servlet container's own program is compiled with it, and the tests' servlets (without this the other techniques are built)
test|file:/usr/share/java/tomcat10-embed-core.jar|libtomcat10-embed-java|Tomcat, in which servlets run (the same)
test|file:/usr/share/java/tomcat10-annotations-api.jar|libtomcat10-java|the rest of Tomcat: annotations, pools of database connections (the same)
test|file:/usr/share/java/eclipse-jdt-core.jar|libeclipse-jdt-core-java|compiles pages of JSP (the same)
test|file:/usr/lib/apache2/modules/mod_wsgi.so|libapache2-mod-wsgi-py3|mod_wsgi's own answers, before ours
test|perl:Plack|libplack-perl|PSGI's own table of cases is run against the engine
test|perl:HTML::Mason|libhtml-mason-perl|a real application in mod_perl
test|perl:Apache::DBI|libapache-dbi-perl|an application's way of keeping database connections
test|file:/usr/share/perl5/Apache2/Reload.pm|libapache2-reload-perl|Debian's own module, on our interface
test|file:/usr/lib/cgit/cgit.cgi|cgit|a packaged CGI application, served with its own configuration
test|file:/usr/lib/cgi-bin/awstats.pl|awstats|another one, in Perl
test|cmd:git|git|a repository for cgit to show
test|cmd:pgrep|procps|looks for processes that a test has left behind, and signals them
test|cmd:strace|strace|the lab counts system calls with it where the kernel's own counters are closed
test|cmd:openssl|openssl|certificates for the tests of TLS
test|cmd:clang-format|clang-format|looks whether C has the layout of .clang-format
test|cmd:perlcritic|libperl-critic-perl|looks for what is known to go wrong in Perl
test|cmd:debootstrap|debootstrap|a minimal system, on which everything is tried as on a fresh machine
test|cmd:chromium|chromium|looks at the showcase as a person would
test|pc:sqlite3|libsqlite3-dev|the lab's CGI program in C reads its comments from SQLite
test|pc:libpq|libpq-dev|the same on PostgreSQL
test|perl:DBD::Pg|libdbd-pg-perl|the same in Perl
run|perl:FCGI|libfcgi-perl|the showcase's FastCGI program
test|cmd:redis-check-rdb|redis-tools|sessions of the example of a cluster; the package of the tools has the server, and no service
test|file:/usr/include/fcgiapp.h|libfcgi-dev|a FastCGI program in C
test|file:/usr/lib/php/20220829/pdo_pgsql.so|php8.2-pgsql|the lab's comments in PHP on PostgreSQL
test|file:/usr/lib/python3/dist-packages/psycopg2/__init__.py|python3-psycopg2|the same in Python
test|file:/usr/share/java/sqlite-jdbc.jar|libxerial-sqlite-jdbc-java|the lab's servlet on SQLite
test|file:/usr/share/java/postgresql.jar|libpostgresql-jdbc-java|the same on PostgreSQL
test|file:/usr/lib/python3/dist-packages/django/__init__.py|python3-django|the lab's Django site, under two users
test|ensurepip|python3-venv|virtual environments, for the example in Django and the tests of frameworks
test|unpack:php8.2-cgi|php8.2-cgi|the lab's WordPress as a program for each request (unpacked, not installed)
test|unpack:php8.2-fpm|php8.2-fpm|PHP as sites of others run it, with its packaged configuration (unpacked, not installed)
test|postgresql|postgresql|the lab starts one of its own for a run (unpacked, not installed)
test|unpack:wordpress|wordpress|a real application in PHP, with MariaDB, which the test starts itself (unpacked, not installed)
test|file:/usr/lib/php/20220829/mbstring.so|php8.2-mbstring|MediaWiki needs it
test|file:/usr/lib/php/20220829/dom.so|php8.2-xml|the same
test|file:/usr/lib/php/20220829/intl.so|php8.2-intl|the same
test|file:/usr/share/php/Symfony/Component/HttpKernel/autoload.php|php-symfony-http-kernel|a program in PHP on Symfony's kernel
test|file:/usr/share/php/Symfony/Component/Routing/autoload.php|php-symfony-routing|the same
test|file:/usr/share/php/Laravel/Lumen/autoload.php|php-laravel-lumen-framework|one on Laravel's small sister
test|unpack:mediawiki|mediawiki|another real application in PHP, on SQLite (unpacked, not installed)
test|file:/usr/share/tomcat-jakartaee-migration/lib|tomcat-jakartaee-migration|servlets for Tomcats before version 10 are converted by it (tests only; without it such applications are not)
test|unpack:tomcat10|tomcat10|Tomcat's own applications: its first page, documentation and examples (unpacked, not installed)
test|unpack:tomcat10-admin|tomcat10-admin|Tomcat's manager of applications (unpacked, not installed)
test|unpack:apache2|apache2|Debian's /etc/apache2, whose files must all parse (unpacked, not installed)
bench|cmd:starman|starman|a PSGI server to measure beside
bench|cmd:gunicorn|gunicorn|a WSGI server to measure beside
bench|python|uvicorn and granian|ASGI and WSGI servers to measure beside (from PyPI, below target/oracle)
bench|nginx|nginx|the other contestant (unpacked, not installed)
TABLE
}

# What is needed on this system: the table has the PHP of Debian 12.
needs() {
  local version extensions
  read -r version extensions < <(php_of "$(release)")
  table | sed "s/php8\\.2/php$version/g; s/php-config8\\.2/php-config$version/g; s/20220829/$extensions/g"
}

php_of() { # php_of RELEASE: the version of PHP that it has, and the number that its extensions' folder is named by
  case $1 in
    'debian 13' | 'ubuntu 25.04' | 'ubuntu 25.10') echo 8.4 20240924 ;;
    'ubuntu 24.04' | 'ubuntu 24.10') echo 8.3 20230831 ;;
    'ubuntu 22.04') echo 8.1 20210902 ;;
    *) echo 8.2 20220829 ;;
  esac
}

# Nothing where the PHP that the tests are written with is installed, from wherever it came.
release() {
  if [ ! -e /usr/bin/php-config8.2 ]; then (. /etc/os-release && echo "$ID $VERSION_ID") 2>/dev/null || true; fi
}

# WordPress, what it links to, and MariaDB with the libraries that only it needs.
WORDPRESS="wordpress wordpress-theme-twentytwentythree php-getid3 libjs-underscore libjs-cropper php8.2-mysql mariadb-server \
mariadb-server-core mariadb-client-core mariadb-common libmariadb3 libaio1 liburing2"

say() { printf 'setup: %s\n' "$*" >&2; }

includes() { # includes GOAL: is this goal part of the one asked for?
  case $goal in
    build) [ "$1" = build ] ;;
    run) [ "$1" = build ] || [ "$1" = run ] ;;
    test) [ "$1" != bench ] ;;
    bench) true ;;
    *) say "unknown goal '$goal'; one of: build run test bench"; exit 2 ;;
  esac
}

present() { # present PROBE
  local file
  case $1 in
    cmd:*) command -v "${1#cmd:}" >/dev/null ;;
    file:*) [ -e "${1#file:}" ] ;;
    pc:*) command -v pkg-config >/dev/null && pkg-config --exists "${1#pc:}" ;;
    libperl) can_link_perl ;;
    ensurepip) /usr/bin/python3 -c 'import ensurepip' 2>/dev/null ;;
    lib:*) file=$(cc -print-file-name="${1#lib:}" 2>/dev/null) && [ -e "$file" ] ;;
    opcache) compgen -G '/usr/lib/php/*/opcache.so' >/dev/null ;;
    perl:*) command -v perl >/dev/null && perl "-M${1#perl:}" -e 1 2>/dev/null ;;
    unpack:*) [ -d "target/oracle/${1#unpack:}" ] ;;
    # Unpacked, it also takes libraries.
    postgresql) runs_postgres /usr/lib/postgresql || runs_postgres target/oracle/postgresql/usr/lib/postgresql ;;
    python) [ -x target/oracle/python/bin/granian ] && [ -x target/oracle/python/bin/uvicorn ] ;;
    nginx) command -v nginx >/dev/null || [ -d target/oracle/nginx ] ;;
  esac
}

runs_postgres() { # runs_postgres FOLDER: a version below it
  local program
  for program in "$1"/*/bin/postgres; do
    if [ -x "$program" ] && "$program" --version >/dev/null 2>&1; then return 0; fi
  done
  return 1
}

# The library and the headers, not only these: the latter come along with Debian's perl itself. As engines/perl/build.rs
# looks for them.
can_link_perl() {
  local linking tried status=0
  perl -MConfig -e 'exit !-e "$Config{archlibexp}/CORE/perl.h"' 2>/dev/null || return 1
  linking=$(perl -MExtUtils::Embed -e ldopts 2>/dev/null) || return 1
  tried=$(mktemp)
  # The options are words of the shell's, as in every makefile of an embedded perl.
  # shellcheck disable=SC2086
  cc -x c - -x none -o "$tried" $linking 2>/dev/null <<<'int main(void) { return 0; }' || status=1
  rm -f "$tried"
  return $status
}

unpack() { # unpack NAME: a copy of the package below target/oracle; needs no root, runs no maintainer script
  local work package=$1
  if [ "$package" = postgresql ]; then package=$(server_package); fi
  if [ "$package" = wordpress ]; then package=$WORDPRESS; fi
  if [ "$package" = mediawiki ]; then package='mediawiki mediawiki-classes'; fi
  if [ "$package" = tomcat10 ]; then package='tomcat10 tomcat10-docs tomcat10-examples'; fi
  command -v dpkg-deb >/dev/null || return 1
  mkdir -p target/oracle
  work=$(mktemp -d target/oracle/.new.XXXXXX)
  # Several packages make one copy.
  # shellcheck disable=SC2086
  if (cd "$work" && apt-get -qq -o APT::Sandbox::User=root download $package &&
    for file in ./*.deb; do dpkg-deb -x "$file" tree; done); then
    mv "$work/tree" "target/oracle/$1"
  fi
  rm -rf "$work"
  [ -d "target/oracle/$1" ]
}

# Servers of PyPI's, beside the modules that the system has.
make_environment() {
  local folder=target/oracle/python
  rm -rf $folder
  mkdir -p target/oracle
  /usr/bin/python3 -m venv --system-site-packages $folder &&
    $folder/bin/pip install --quiet --disable-pip-version-check 'uvicorn[standard]' granian </dev/null
}

server_package() { # PostgreSQL's package has its version in its name: postgresql-15
  apt-cache depends postgresql | awk '$1 == "Depends:" && $2 ~ /^postgresql-[0-9]+$/ && !found++ { print $2 }'
}

# install_server_libraries ROOT: what the unpacked server needs beside itself. libllvm is only for its compiler, which
# it can do without.
install_server_libraries() {
  local libraries
  mapfile -t libraries < <(apt-cache depends "$(server_package)" |
    awk '$1 == "Depends:" && $2 ~ /^(lib|tzdata)/ && $2 !~ /^libllvm/ { print $2 }' |
    while read -r library; do dpkg-query -s "$library" >/dev/null 2>&1 || echo "$library"; done)
  [ ${#libraries[@]} = 0 ] || apt_install "$1" "${libraries[@]}" || say 'could not install all that it needs'
}

# The version that the workspace asks for: 1.90.
wanted_rust() { sed -n 's/^rust-version = "\([0-9.]*\)".*/\1/p' Cargo.toml; }

# Whether a cargo is new enough.
will_do() {
  local version wanted
  version=$("$1" --version 2>/dev/null | awk '{ print $2 }')
  wanted=$(wanted_rust)
  [ -n "$version" ] && [ "$(printf '%s\n' "$wanted" "${version%%-*}" | sort -V | head -n 1)" = "$wanted" ]
}

# The cargo to build with: that on the PATH, else rustup's, which is on the PATH only after the next log-in, and which may
# stand beside a distribution's older one.
find_cargo() {
  local cargo
  for cargo in "$(command -v cargo || true)" "${CARGO_HOME:-$HOME/.cargo}/bin/cargo"; do
    if [ -x "$cargo" ] && will_do "$cargo"; then echo "$cargo"; return; fi
  done
  return 1
}

check_rust() {
  local old cargo tool
  if cargo=$(find_cargo); then
    [ "$goal" = test ] || return 0
    for tool in fmt clippy; do
      "$cargo" $tool --version >/dev/null 2>&1 || say "cargo $tool is missing: rustup component add rustfmt clippy"
    done
    return 0
  fi
  if old=$(command -v cargo); then
    say "$old is $("$old" --version 2>&1 | head -n 1): too old, Hostler needs cargo $(wanted_rust) or newer."
  else
    say "Rust is missing: Hostler needs cargo $(wanted_rust) or newer."
  fi
  say 'Install it with rustup (see rustup.rs), then run this again.'
  exit 1
}

# How to become root: "" as root, "sudo" where that works, "-" where neither is possible.
find_root() {
  if [ "$(id -u)" = 0 ]; then echo ''
  elif command -v sudo >/dev/null && { [ -t 0 ] || sudo -n true 2>/dev/null; }; then echo sudo
  else echo -; fi
}

install_packages() { # install_packages ROOT PACKAGE...
  local root=$1 guard=/usr/sbin/policy-rc.d guarded=no status=0
  shift
  # Debian asks this file before it starts a service. 101 means no. An administrator's own file stays.
  # (systemd is asked through the same file.)
  if [ ! -e $guard ]; then
    guarded=yes
    trap '$root rm -f '$guard EXIT
    printf '#!/bin/sh\nexit 101\n' | $root tee $guard >/dev/null
    $root chmod 755 $guard
  fi
  say 'refreshing the package lists'
  $root apt-get -qq update || say 'could not refresh the package lists; going on with the old ones'
  apt_install "$root" "$@" || status=$?
  if [ $status != 0 ]; then
    say 'not all at once; trying one by one'
    for package; do apt_install "$root" "$package" || say "could not install $package"; done
  fi
  if [ $guarded = yes ]; then $root rm -f $guard; trap - EXIT; fi
}

apt_install() { # apt_install ROOT PACKAGE...
  local root=$1
  shift
  $root env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300 install \
    --yes --no-install-recommends "$@" </dev/null >/dev/null
}

main() {
  if [ "$goal" = cargo ]; then find_cargo || true; return; fi
  local missing=() copies=() environment=no for_goal probe package why root left=0
  includes build
  check_rust
  while IFS='|' read -r for_goal probe package why; do
    includes "$for_goal" && ! present "$probe" || continue
    say "$package is missing: $why"
    case $probe in
      unpack:*|postgresql|nginx) copies+=("$package") ;;
      python) environment=yes ;;
      *) missing+=("$package") ;;
    esac
  done < <(needs)
  [ ${#missing[@]} = 0 ] && [ ${#copies[@]} = 0 ] && [ $environment = no ] && return 0

  if ! command -v apt-get >/dev/null; then
    say 'this system has no apt-get: please install the above with its own package manager (names may differ)'
  else
    root=$(find_root)
    if [ ${#missing[@]} = 0 ]; then :
    elif [ "$root" = - ]; then
      say "not root and no sudo: as root, run: apt-get install --no-install-recommends ${missing[*]}"
    else
      say "installing with ${root:+sudo }apt-get: ${missing[*]}"
      install_packages "$root" "${missing[@]}"
    fi
    for package in ${copies[@]+"${copies[@]}"}; do
      say "unpacking $package below target/oracle"
      [ -d "target/oracle/$package" ] || unpack "$package" || say "could not fetch $package"
      if [ "$package" = postgresql ] && [ "$root" != - ]; then install_server_libraries "$root"; fi
    done
  fi

  if [ $environment = yes ]; then
    say 'making the virtual environment target/oracle/python'
    make_environment || say 'could not make it'
  fi

  while IFS='|' read -r for_goal probe package why; do
    includes "$for_goal" && ! present "$probe" || continue
    left=$((left + 1))
    say "still without $package; what needs it will say so"
    if [ "$probe" = cmd:cc ]; then say 'nothing can be built without a C compiler'; exit 1; fi
  done < <(needs)
  [ $left = 0 ] && say 'done' || true
}

main
