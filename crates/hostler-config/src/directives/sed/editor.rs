//! A text on its way through a script: it comes in pieces of any size, and leaves line by line.
//!
//! A line waits until it is known whether it is the last one. `n` and `N` go on when the next one has come, so there is
//! no more of the text in memory than the script keeps.

use super::pattern::MatchRange;
use super::script::{Action, Address, Piece, Print, Script, Substitute, Which};
use hostler_expr::effort::{self, Exhausted};
use std::sync::Arc;

/// Longest line, and most that a script can hold of either kind, in bytes.
pub const LONGEST: usize = 8 << 20;
/// Most texts that are appended to one line.
const APPENDED: usize = 19;
/// The line width of `l`.
const LISTED: usize = 71;

/// Why a text can't be changed as the script says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failed(pub String);

impl From<Exhausted> for Failed {
    fn from(error: Exhausted) -> Self {
        Self(error.to_string())
    }
}

/// A text and what a script makes of it.
#[derive(Debug)]
pub struct Editor {
    script: Arc<Script>,
    /// Input that is no whole line yet, or a line that may be the last one.
    rest: Vec<u8>,
    /// `rest` up to here has no end of a line.
    seen: usize,
    /// sed's pattern space: the line that is worked on.
    space: Vec<u8>,
    /// sed's hold space.
    held: Vec<u8>,
    /// Ranges that have begun, by their command.
    ranges: Vec<bool>,
    /// Texts of `a` that follow the line, by their command.
    appended: Vec<usize>,
    number: u64,
    is_last: bool,
    /// True if anything was replaced (`t`).
    is_changed: bool,
    /// The command at which `n` or `N` has stopped.
    goes_on: Option<usize>,
    /// Nothing comes any more, whatever follows (`q`).
    has_quit: bool,
}

/// The next step of a line after a command.
enum After {
    Next,
    Jump(usize),
    /// It is printed.
    End,
    /// It is not.
    Deleted,
    /// The script goes on with the next line, or never.
    Stop,
}

impl Editor {
    /// # Errors
    /// The script is not complete.
    pub fn new(script: Arc<Script>) -> Result<Self, Failed> {
        script.is_complete().map_err(Failed)?;
        let ranges = vec![false; script.commands.len()];
        Ok(Self {
            script,
            ranges,
            rest: Vec::new(),
            seen: 0,
            space: Vec::new(),
            held: Vec::new(),
            appended: Vec::new(),
            number: 0,
            is_last: false,
            is_changed: false,
            goes_on: None,
            has_quit: false,
        })
    }

    /// Bytes that are in memory.
    #[must_use]
    pub fn kept(&self) -> usize {
        self.rest.len() + self.space.len() + self.held.len()
    }

    /// More of the text.
    ///
    /// # Errors
    /// A line is too long.
    pub fn push(&mut self, piece: &[u8]) -> Result<(), Failed> {
        if !self.has_quit {
            fits(self.rest.len() + piece.len())?;
            self.rest.extend_from_slice(piece);
        }
        Ok(())
    }

    /// Works on lines that are there, up to about so many bytes; whether there may be more of them.
    ///
    /// # Errors
    /// Something becomes too long, or takes too much time.
    pub fn step(&mut self, most: usize, out: &mut Vec<u8>) -> Result<bool, Failed> {
        let mut done = 0;
        while done < most && !self.has_quit {
            let Some(end) = memchr::memchr(b'\n', &self.rest[done.max(self.seen)..]) else {
                self.seen = self.rest.len();
                break;
            };
            let end = done.max(self.seen) + end;
            if end + 1 == self.rest.len() {
                self.seen = end;
                break;
            }
            self.space.extend_from_slice(&self.rest[done..end]);
            (done, self.seen) = (end + 1, end + 1);
            self.execute(out)?;
        }
        self.rest.drain(..done);
        self.seen -= done;
        Ok(done >= most && !self.has_quit)
    }

    /// Works on the last line, which gets an end if it has none.
    ///
    /// # Errors
    /// As [`Self::step`].
    pub fn finish(&mut self, out: &mut Vec<u8>) -> Result<(), Failed> {
        let has_more = !self.rest.is_empty() || !self.space.is_empty();
        if has_more && !self.has_quit {
            self.is_last = true;
            if self.rest.last() == Some(&b'\n') {
                self.rest.pop();
            }
            let rest = std::mem::take(&mut self.rest);
            self.space.extend_from_slice(&rest);
            self.execute(out)?;
        }
        self.has_quit = true;
        Ok(())
    }

    fn execute(&mut self, out: &mut Vec<u8>) -> Result<(), Failed> {
        let script = self.script.clone();
        self.number += 1;
        self.is_changed = false;
        fits(self.space.len())?;
        effort::spend(20 + self.space.len() / 4)?;
        let mut at = self.goes_on.take().unwrap_or(0);
        while let Some(step) = script.commands.get(at) {
            effort::spend(10)?;
            let is_selected = self.selects(at, step.from.as_ref(), step.to.as_ref())?;
            let after =
                if is_selected == step.is_negated { After::Next } else { self.act(at, &step.action, out)? };
            match after {
                After::Next => at += 1,
                After::Jump(to) => at = to,
                After::End => break,
                After::Deleted => {
                    self.space.clear();
                    return self.append(out);
                }
                After::Stop => return Ok(()),
            }
        }
        if !script.is_quiet {
            print(&self.space, out)?;
        }
        self.append(out)?;
        self.space.clear();
        Ok(())
    }

    /// Returns whether a command's addresses mean this line.
    fn selects(&mut self, at: usize, from: Option<&Address>, to: Option<&Address>) -> Result<bool, Failed> {
        let Some(from) = from else { return Ok(true) };
        if self.ranges[at] {
            match to {
                Some(Address::Line(line)) if self.number > *line => {
                    self.ranges[at] = false;
                    return Ok(false);
                }
                Some(Address::Line(line)) => self.ranges[at] = self.number != *line,
                Some(Address::Match(pattern)) => {
                    self.ranges[at] = pattern.find(&self.space, 0, false)?.is_none();
                }
                Some(Address::Last) | None => {}
            }
            return Ok(true);
        }
        let begins = match from {
            Address::Last => return Ok(self.is_last),
            Address::Line(line) => self.number == *line,
            Address::Match(pattern) => pattern.find(&self.space, 0, false)?.is_some(),
        };
        self.ranges[at] = begins && to.is_some();
        Ok(begins)
    }

    fn act(&mut self, at: usize, action: &Action, out: &mut Vec<u8>) -> Result<After, Failed> {
        match action {
            Action::Append(_) => {
                if self.appended.len() < APPENDED {
                    self.appended.push(at);
                }
            }
            Action::Insert(text) => print(text, out)?,
            Action::Change(text) => {
                if !self.ranges[at] || self.is_last {
                    print(text, out)?;
                }
                return Ok(After::Deleted);
            }
            Action::Jump(to) => return Ok(to.map_or(After::End, After::Jump)),
            Action::JumpIfChanged(to) => {
                if std::mem::take(&mut self.is_changed) {
                    return Ok(to.map_or(After::End, After::Jump));
                }
            }
            Action::Number => print(self.number.to_string().as_bytes(), out)?,
            Action::List => list(&self.space, out)?,
            Action::Print => print(&self.space, out)?,
            Action::PrintFirst => print(first_line(&self.space), out)?,
            Action::Delete => return Ok(After::Deleted),
            Action::DeleteFirst => {
                let first = first_line(&self.space).len();
                if first == self.space.len() {
                    return Ok(After::Deleted);
                }
                effort::spend(self.space.len() / 8)?;
                self.space.drain(..=first);
                return Ok(After::Jump(0));
            }
            Action::Next | Action::NextMore | Action::Quit => return self.leave(at, action, out),
            Action::Substitute(substitute) => self.substitute(substitute, out)?,
            Action::Translate(table) => {
                effort::spend(self.space.len())?;
                self.space.iter_mut().for_each(|byte| *byte = table[usize::from(*byte)]);
            }
            _ => self.hold(action)?,
        }
        Ok(After::Next)
    }

    /// Commands that end the work on this line: the script goes on with the next one, or never.
    fn leave(&mut self, at: usize, action: &Action, out: &mut Vec<u8>) -> Result<After, Failed> {
        if !self.script.is_quiet && !matches!(action, Action::NextMore) {
            print(&self.space, out)?;
        }
        self.append(out)?;
        match action {
            Action::Quit => self.has_quit = true,
            Action::NextMore => self.space.push(b'\n'),
            _ => self.space.clear(),
        }
        self.goes_on = Some(at + 1);
        Ok(After::Stop)
    }

    /// Commands between the two spaces.
    fn hold(&mut self, action: &Action) -> Result<(), Failed> {
        let Self { space, held, .. } = self;
        effort::spend((space.len() + held.len()) / 8)?;
        match action {
            Action::Copy => space.clone_from(held),
            Action::Hold => held.clone_from(space),
            Action::CopyMore => {
                fits(space.len() + held.len() + 1)?;
                space.push(b'\n');
                space.extend_from_slice(held);
            }
            Action::HoldMore => {
                fits(space.len() + held.len() + 1)?;
                held.push(b'\n');
                held.extend_from_slice(space);
            }
            Action::Exchange => std::mem::swap(space, held),
            _ => {}
        }
        Ok(())
    }

    fn substitute(&mut self, rule: &Substitute, out: &mut Vec<u8>) -> Result<(), Failed> {
        let Some(mut found) = rule.pattern.find(&self.space, 0, false)? else { return Ok(()) };
        self.is_changed = false;
        let (mut made, mut copied, mut passed) = (Vec::new(), 0, 0);
        loop {
            passed += 1;
            if !matches!(rule.which, Which::Only(wanted) if wanted != passed) {
                self.is_changed = true;
                made.extend_from_slice(&self.space[copied..found.whole.start]);
                replace(rule, &self.space, &found, &mut made);
                copied = found.whole.end;
                effort::spend(10 + made.len() / 64)?;
                fits(made.len())?;
            }
            let from = found.whole.end;
            if rule.which == Which::First || from == self.space.len() {
                break;
            }
            match rule.pattern.find(&self.space, from, true)? {
                Some(next) => found = next,
                None => break,
            }
        }
        made.extend_from_slice(&self.space[copied..]);
        fits(made.len())?;
        self.space = made;
        match rule.print {
            Print::All if self.is_changed && self.script.is_quiet => print(&self.space, out),
            Print::FirstLine if self.is_changed && self.script.is_quiet => {
                print(first_line(&self.space), out)
            }
            _ => Ok(()),
        }
    }

    /// Prints what is to follow the line.
    fn append(&mut self, out: &mut Vec<u8>) -> Result<(), Failed> {
        for at in std::mem::take(&mut self.appended) {
            if let Action::Append(text) = &self.script.commands[at].action {
                print(text, out)?;
            }
        }
        Ok(())
    }
}

fn fits(bytes: usize) -> Result<(), Failed> {
    if bytes <= LONGEST {
        return Ok(());
    }
    Err(Failed(format!("a line, or what the script keeps of it, is longer than {LONGEST} bytes")))
}

fn first_line(text: &[u8]) -> &[u8] {
    &text[..memchr::memchr(b'\n', text).unwrap_or(text.len())]
}

fn print(text: &[u8], out: &mut Vec<u8>) -> Result<(), Failed> {
    effort::spend(10 + text.len())?;
    // What a script without an end prints is bounded by time; this is for machines that are very fast.
    fits(out.len() / 4 + text.len())?;
    out.extend_from_slice(text);
    out.push(b'\n');
    Ok(())
}

fn replace(rule: &Substitute, text: &[u8], found: &MatchRange, made: &mut Vec<u8>) {
    for piece in &rule.replacement {
        match piece {
            Piece::Text(text) => made.extend_from_slice(text),
            Piece::Whole => made.extend_from_slice(&text[found.whole.clone()]),
            Piece::Group(group) => made.extend_from_slice(&text[found.groups[*group].clone()]),
        }
    }
}

/// `l`: what can't be seen is written with its number.
///
/// Quirk(apache): the numbers of control characters have two digits, and those of bytes from 0x80 on begin with what
/// the C compiler makes of a negative one.
fn list(text: &[u8], out: &mut Vec<u8>) -> Result<(), Failed> {
    let mut line = Vec::with_capacity(LISTED + 1);
    for byte in text {
        let shown = match byte {
            b'\n' => "\n".to_owned(),
            0..0x20 => format!("\\{byte:02o}"),
            0x7f => "\\177".to_owned(),
            0x80.. => format!("\\{}{:02o}", char::from(b'0' - 4 + (byte >> 6)), byte & 0o77),
            _ => char::from(*byte).to_string(),
        };
        for byte in shown.bytes() {
            line.push(byte);
            if line.len() == LISTED {
                line.push(b'\\');
                print(&line, out)?;
                line.clear();
            }
        }
    }
    print(&line, out)
}

#[cfg(test)]
mod tests;
