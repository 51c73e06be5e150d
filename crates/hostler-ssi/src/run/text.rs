//! Elements that need nothing from outside: `config`, `echo`, `set`, `printenv`.

use super::scene::{Lookup, Printable, Scene, Unknown};
use crate::coding::{Coding, Codings};
use crate::host::Host;
use crate::need::{Output, SizeFormat};
use crate::program::{ConfigAction, EchoAction, SetAction};
use crate::value::Value;
use hostler_cgi::write_html;

impl<H: Host + ?Sized, O: Output + ?Sized> Scene<'_, H, O> {
    pub(super) fn config(&mut self, actions: &[ConfigAction]) {
        for action in actions {
            match action {
                ConfigAction::ErrorMessage(value) => {
                    self.state.settings.error_message = self.expand_new(value).into();
                }
                ConfigAction::EchoMessage(value) => {
                    self.state.settings.undefined_echo = self.expand_new(value).into();
                }
                ConfigAction::TimeFormat(value) => {
                    self.state.settings.time_format = self.expand_new(value).into();
                    self.host.format_dates(&self.state.settings.time_format);
                }
                ConfigAction::SizeFormat(value) => {
                    if !self.size_format(value) {
                        return;
                    }
                }
                ConfigAction::Unknown(name) => {
                    return self
                        .error(format_args!("unknown attribute \"{}\" of config element", Printable(name)));
                }
            }
        }
    }

    fn expand_new(&self, value: &Value) -> Vec<u8> {
        let mut text = Vec::new();
        self.lookup().expand(value, Unknown::Drop, &mut text);
        text
    }

    /// False if there is no such format.
    fn size_format(&mut self, value: &Value) -> bool {
        let format = self.expand_new(value);
        self.state.size_format = match format.as_slice() {
            b"bytes" => SizeFormat::Bytes,
            b"abbrev" => SizeFormat::Abbreviated,
            _ => {
                self.error(format_args!("unknown sizefmt \"{}\" of config element", Printable(&format)));
                return false;
            }
        };
        true
    }

    pub(super) fn echo(&mut self, actions: &[EchoAction]) {
        for action in actions {
            let failed = match action {
                EchoAction::Variable { name, decoding, encoding } => self.echo_one(name, decoding, encoding),
                EchoAction::Unknown(name) => {
                    return self
                        .error(format_args!("unknown attribute \"{}\" of echo element", Printable(name)));
                }
            };
            if failed {
                return;
            }
        }
    }

    /// True if the element must stop here.
    fn echo_one(&mut self, name: &Value, decoding: &Codings, encoding: &Codings) -> bool {
        let built;
        let name = match name.constant() {
            Some(name) => name,
            None => {
                built = self.expand_new(name);
                &built
            }
        };
        let lookup = Lookup {
            host: &*self.host,
            page: self.page,
            offset: self.node.at,
            time_format: &self.state.settings.time_format,
            captures: &self.state.captures,
        };
        let Some(value) = lookup.variable(name) else {
            self.out.text(&self.state.settings.undefined_echo);
            return false;
        };
        if decoding.is_none() && encoding.unknown.is_none() {
            match encoding.list.as_slice() {
                [] => return show(self.out, &value),
                [Coding::Entity] => {
                    write_html(&value, |part| self.out.text(part));
                    return false;
                }
                _ => {}
            }
        }
        let value = value.into_owned();
        let failed = self.unknown_codings("echo", decoding, encoding);
        if !failed {
            self.out.text(&transcoded(value, decoding, encoding));
        }
        failed
    }

    /// Complains about words that are no codings; of two, mod_include prints two error messages.
    fn unknown_codings(&mut self, element: &str, decoding: &Codings, encoding: &Codings) -> bool {
        for (attribute, codings) in [("decoding", decoding), ("encoding", encoding)] {
            if let Some(word) = &codings.unknown {
                self.error(format_args!("unknown {attribute} \"{}\" of {element} element", Printable(word)));
            }
        }
        decoding.unknown.is_some() || encoding.unknown.is_some()
    }

    pub(super) fn set(&mut self, actions: &[SetAction]) {
        let mut name = std::mem::take(&mut self.state.name);
        for action in actions {
            match action {
                SetAction::Variable(value) => {
                    name.clear();
                    self.lookup().expand(value, Unknown::Drop, &mut name);
                }
                SetAction::Value { value, decoding, encoding } => {
                    if self.unknown_codings("set", decoding, encoding) {
                        break;
                    }
                    self.set_one(&name, value, decoding, encoding);
                }
                SetAction::NoVariable => {
                    self.error(format_args!("a set element needs its variable before the value"));
                    break;
                }
                SetAction::Unknown => {
                    self.error(format_args!("unknown attribute of set element"));
                    break;
                }
            }
        }
        self.state.name = name;
    }

    fn set_one(&mut self, name: &[u8], value: &Value, decoding: &Codings, encoding: &Codings) {
        let plain = decoding.is_none() && encoding.is_none();
        if let (true, Some(text)) = (plain, value.constant()) {
            self.host.set_variable(name, text);
            return;
        }
        let mut text = self.expand(value, Unknown::Drop);
        if !plain {
            text = transcoded(text, decoding, encoding);
        }
        self.host.set_variable(name, &text);
        self.give_back(text);
    }

    pub(super) fn printenv(&mut self) {
        let out = &mut *self.out;
        self.host.each_variable(&self.state.settings.time_format, &mut |name, value| {
            write_html(name, |part| out.text(part));
            out.text(b"=");
            write_html(value, |part| out.text(part));
            out.text(b"\n");
        });
    }
}

fn show<O: Output + ?Sized>(out: &mut O, value: &[u8]) -> bool {
    out.text(value);
    false
}

/// Decodes, then encodes.
fn transcoded(mut text: Vec<u8>, decoding: &Codings, encoding: &Codings) -> Vec<u8> {
    for coding in &decoding.list {
        let mut decoded = Vec::with_capacity(text.len());
        coding.decode(&text, &mut decoded);
        text = decoded;
    }
    for coding in &encoding.list {
        let mut encoded = Vec::with_capacity(text.len() * 2);
        coding.encode(&text, &mut encoded);
        text = encoded;
    }
    text
}
