# The entry for people: every target is a command of `cargo xtask` (see `cargo xtask help`).
# `make run` and `make test` first install what is missing on Debian and Ubuntu (setup.sh says what and why).
PREFIX ?= /usr/local
DESTDIR ?=
# The one on the PATH, or rustup's; setup.sh says when neither will do.
CARGO ?= $(shell ./setup.sh cargo)

.PHONY: help run test build install deb check bench docs clean

help:
	@echo 'make run      serve the showcase on http://127.0.0.1:8080/ (LISTEN=8090 or ADDRESS:PORT for another)'
	@echo 'make test     everything: formatting, lints, unit, black-box and conformance tests, fuzz smoke'
	@echo 'make build    release programs in target/release'
	@echo 'make install  copy them below DESTDIR and PREFIX ($(DESTDIR)$(PREFIX))'
	@echo 'make deb      Debian packages in target/deb'
	@echo 'make check    formatting, lints, layers and sizes only'
	@echo 'make bench    measure against the packaged Apache, mod_perl, Starman and nginx'
	@echo 'make docs     directive reference, man pages, completions'

run:
	@./setup.sh run
	@$(CARGO) xtask run $(if $(LISTEN),--listen '$(LISTEN)')

test:
	@./setup.sh test
	@$(CARGO) xtask test

build:
	@./setup.sh build
	@$(CARGO) xtask build

# Builds nothing: packagers run `make build` first, and install as another user.
install:
	@DESTDIR='$(DESTDIR)' PREFIX='$(PREFIX)' packaging/install.sh

deb: build
	@packaging/deb.sh

check:
	@./setup.sh build
	@$(CARGO) xtask check

bench:
	@./setup.sh bench
	@$(CARGO) xtask bench

docs:
	@./setup.sh build
	@$(CARGO) xtask docs

clean:
	@$(CARGO) clean
