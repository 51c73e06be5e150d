//! A script of sed as mod_sed reads it: commands, the addresses before them, and where they jump to.
//!
//! Commands that read or write files are refused: the front does neither for anybody.

use super::pattern::{GROUPS, Pattern, next, take};
use std::sync::Arc;

/// Longest line of a script, in bytes.
const LONGEST_LINE: usize = 1000;
/// Longest name of a label, in bytes.
const LONGEST_LABEL: usize = 7;
/// Most commands of a script.
const MOST: usize = 5000;
/// Most blocks inside each other.
const DEPTH: usize = 20;

/// A script, which may come in several parts.
#[derive(Clone, Debug, Default)]
pub struct Script {
    pub(super) commands: Vec<Step>,
    /// `#n`: only what is told to be printed is.
    pub(super) is_quiet: bool,
    labels: Vec<Label>,
    /// Blocks that are open: their first commands.
    blocks: Vec<usize>,
    last_pattern: Option<Arc<Pattern>>,
    /// The last jump to the end.
    last_jump: Option<usize>,
}

#[derive(Clone, Debug)]
struct Label {
    name: Vec<u8>,
    at: Option<usize>,
    /// Jumps to it that stand before it.
    wanted: Vec<usize>,
}

/// A command with its addresses.
#[derive(Clone, Debug)]
pub(super) struct Step {
    pub(super) from: Option<Address>,
    pub(super) to: Option<Address>,
    pub(super) is_negated: bool,
    pub(super) action: Action,
}

#[derive(Clone, Debug)]
pub(super) enum Address {
    Line(u64),
    Last,
    Match(Arc<Pattern>),
}

#[derive(Clone, Debug)]
pub(super) enum Action {
    Append(Vec<u8>),
    Insert(Vec<u8>),
    Change(Vec<u8>),
    /// `None`: to the end.
    Jump(Option<usize>),
    JumpIfChanged(Option<usize>),
    Number,
    Copy,
    CopyMore,
    Hold,
    HoldMore,
    Exchange,
    List,
    Next,
    NextMore,
    Print,
    PrintFirst,
    Delete,
    DeleteFirst,
    Quit,
    Substitute(Substitute),
    Translate(Box<[u8; 256]>),
}

#[derive(Clone, Debug)]
pub(super) struct Substitute {
    pub(super) pattern: Arc<Pattern>,
    pub(super) replacement: Vec<Piece>,
    pub(super) which: Which,
    pub(super) print: Print,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Piece {
    Text(Vec<u8>),
    Whole,
    Group(usize),
}

/// The matches to replace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Which {
    First,
    All,
    /// Counted from one.
    Only(usize),
}

/// The output after a replacement. Quirk(apache): only in scripts with `#n`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Print {
    No,
    All,
    FirstLine,
}

/// Why a script can't be read.
type Wrong = String;

fn garbled(line: &[u8]) -> Wrong {
    format!("command garbled: {}", String::from_utf8_lossy(line))
}

impl Script {
    /// Reads another part.
    ///
    /// # Errors
    /// The fault in the script.
    pub fn add(&mut self, text: &[u8]) -> Result<(), String> {
        for (index, line) in lines(text).into_iter().enumerate() {
            if line.len() > LONGEST_LINE {
                return Err(format!("a line is longer than {LONGEST_LINE} bytes"));
            }
            if index == 0 && line.starts_with(b"#n") {
                self.is_quiet = true;
            }
            self.line(line)?;
        }
        Ok(())
    }

    /// # Errors
    /// Something is still open, so nothing can be changed as the script says.
    pub fn is_complete(&self) -> Result<(), String> {
        if !self.blocks.is_empty() {
            return Err("too many {'s".into());
        }
        match self.labels.iter().find(|label| label.at.is_none()) {
            Some(label) => Err(format!("undefined label: {}", String::from_utf8_lossy(&label.name))),
            None => Ok(()),
        }
    }

    fn line(&mut self, line: &[u8]) -> Result<(), Wrong> {
        let mut rest = line;
        loop {
            while rest.first().is_some_and(|byte| b" \t;".contains(byte)) {
                rest = &rest[1..];
            }
            if rest.first().is_none_or(|byte| *byte == b'#') {
                return Ok(());
            }
            if self.commands.len() >= MOST {
                return Err(format!("there are more than {MOST} commands"));
            }
            let from = self.address(&mut rest, line)?;
            let to = if from.is_some() && (take(&mut rest, b',') || take(&mut rest, b';')) {
                Some(self.address(&mut rest, line)?.ok_or_else(|| garbled(line))?)
            } else {
                None
            };
            while rest.first().is_some_and(|byte| b" \t".contains(byte)) {
                rest = &rest[1..];
            }
            let mut is_negated = false;
            while take(&mut rest, b'!') {
                is_negated = true;
            }
            let step = Step { from, to, is_negated, action: Action::Jump(None) };
            if !self.command(step, &mut rest, line)? {
                return Ok(());
            }
        }
    }

    fn address(&mut self, rest: &mut &[u8], line: &[u8]) -> Result<Option<Address>, Wrong> {
        match rest.first() {
            Some(b'$') => {
                *rest = &rest[1..];
                Ok(Some(Address::Last))
            }
            Some(b'/' | b'\\') => {
                take(rest, b'\\');
                let delimiter = next(rest).ok_or_else(|| garbled(line))?;
                Ok(Some(Address::Match(self.pattern(rest, delimiter, line)?)))
            }
            Some(b'0'..=b'9') => {
                let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
                let (number, after) = rest.split_at(digits);
                *rest = after;
                let number = std::str::from_utf8(number).ok().and_then(|number| number.parse().ok());
                Ok(Some(Address::Line(number.ok_or_else(|| garbled(line))?)))
            }
            _ => Ok(None),
        }
    }

    /// A pattern; an empty one is the one before.
    fn pattern(&mut self, rest: &mut &[u8], delimiter: u8, line: &[u8]) -> Result<Arc<Pattern>, Wrong> {
        let read = Pattern::read(rest, delimiter);
        match read.map_err(|why| format!("{why}: {}", String::from_utf8_lossy(line)))? {
            Some(pattern) => {
                let pattern = Arc::new(pattern);
                self.last_pattern = Some(pattern.clone());
                Ok(pattern)
            }
            None => self.last_pattern.clone().ok_or_else(|| "no remembered search string".into()),
        }
    }

    /// Reads a command; whether more may follow on its line.
    fn command(&mut self, mut step: Step, rest: &mut &[u8], line: &[u8]) -> Result<bool, Wrong> {
        let at = self.commands.len();
        let letter = next(rest).ok_or_else(|| garbled(line))?;
        match letter {
            b'{' => {
                if self.blocks.len() >= DEPTH {
                    return Err(format!("there are more than {DEPTH} blocks inside each other"));
                }
                step.is_negated = !step.is_negated;
                self.blocks.push(at);
                self.commands.push(step);
                return Ok(true);
            }
            b'}' | b':' if step.from.is_some() => {
                return Err(format!("no addresses allowed: {}", String::from_utf8_lossy(line)));
            }
            b'}' => {
                let begin = self.blocks.pop().ok_or("too many }'s")?;
                self.commands[begin].action = Action::Jump(Some(at));
                // Quirk(apache): nothing is read behind it.
                return Ok(false);
            }
            b':' => {
                self.set_label(rest, line)?;
                return Ok(false);
            }
            b'b' | b't' => {
                let target = self.target(rest, line)?;
                step.action =
                    if letter == b'b' { Action::Jump(target) } else { Action::JumpIfChanged(target) };
                self.commands.push(step);
                return Ok(false);
            }
            b'a' | b'i' | b'=' | b'q' | b'r' if step.to.is_some() => {
                return Err(format!("only one address allowed: {}", String::from_utf8_lossy(line)));
            }
            _ => step.action = self.action(letter, rest, line)?,
        }
        self.commands.push(step);
        match next(rest) {
            None => Ok(false),
            Some(b';') => Ok(true),
            Some(_) => Err(garbled(line)),
        }
    }

    fn action(&mut self, letter: u8, rest: &mut &[u8], line: &[u8]) -> Result<Action, Wrong> {
        Ok(match letter {
            b'=' => Action::Number,
            b'a' => Action::Append(text(rest, line)?),
            b'c' => Action::Change(text(rest, line)?),
            b'i' => Action::Insert(text(rest, line)?),
            b'g' => Action::Copy,
            b'G' => Action::CopyMore,
            b'h' => Action::Hold,
            b'H' => Action::HoldMore,
            b'x' => Action::Exchange,
            b'l' => Action::List,
            b'n' => Action::Next,
            b'N' => Action::NextMore,
            b'p' => Action::Print,
            b'P' => Action::PrintFirst,
            b'd' => Action::Delete,
            b'D' => Action::DeleteFirst,
            b'q' => Action::Quit,
            b's' => self.substitute(rest, line)?,
            b'y' => Action::Translate(translation(rest, line)?),
            b'r' | b'w' => {
                return Err("the commands r and w, which read and write files, are not supported".into());
            }
            _ => return Err(format!("unrecognized command: {}", String::from_utf8_lossy(line))),
        })
    }

    fn substitute(&mut self, rest: &mut &[u8], line: &[u8]) -> Result<Action, Wrong> {
        let delimiter = next(rest).ok_or_else(|| garbled(line))?;
        let pattern = self.pattern(rest, delimiter, line)?;
        let replacement = replacement(rest, delimiter, pattern.groups, line)?;
        let mut which = if take(rest, b'g') { Which::All } else { Which::First };
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        if digits > 0 && rest[0] != b'0' {
            let number = std::str::from_utf8(&rest[..digits]).ok().and_then(|number| number.parse().ok());
            let number: usize = number.filter(|number| *number <= 512).ok_or("suffix too large: 512 max")?;
            which = Which::Only(number);
            *rest = &rest[digits..];
        }
        let mut print = if take(rest, b'p') { Print::All } else { Print::No };
        if take(rest, b'P') {
            print = Print::FirstLine;
        }
        if rest.first() == Some(&b'w') {
            return Err("the flag w, which writes files, is not supported".into());
        }
        Ok(Action::Substitute(Substitute { pattern, replacement, which, print }))
    }

    fn name(rest: &mut &[u8], line: &[u8]) -> Result<Vec<u8>, Wrong> {
        let begin = rest.iter().take_while(|byte| **byte == b' ').count();
        let name = rest[begin..].to_vec();
        *rest = &[];
        if name.len() > LONGEST_LABEL {
            return Err(format!("label too long: {}", String::from_utf8_lossy(line)));
        }
        Ok(name)
    }

    fn label(&mut self, name: Vec<u8>) -> &mut Label {
        let known = self.labels.iter().position(|label| label.name == name);
        let index = known.unwrap_or_else(|| {
            self.labels.push(Label { name, at: None, wanted: Vec::new() });
            self.labels.len() - 1
        });
        &mut self.labels[index]
    }

    fn set_label(&mut self, rest: &mut &[u8], line: &[u8]) -> Result<(), Wrong> {
        let (name, here) = (Self::name(rest, line)?, self.commands.len());
        let label = self.label(name);
        if label.at.replace(here).is_some() {
            return Err(format!("duplicate labels: {}", String::from_utf8_lossy(line)));
        }
        for wanted in std::mem::take(&mut label.wanted) {
            if let Action::Jump(to) | Action::JumpIfChanged(to) = &mut self.commands[wanted].action {
                *to = Some(here);
            }
        }
        Ok(())
    }

    /// Parses the target of a jump.
    ///
    /// Quirk(apache): one without a label leads to the next one without a label, only the last of them to the end.
    fn target(&mut self, rest: &mut &[u8], line: &[u8]) -> Result<Option<usize>, Wrong> {
        let (name, here) = (Self::name(rest, line)?, self.commands.len());
        if name.is_empty() {
            if let Some(last) = self.last_jump.replace(here)
                && let Action::Jump(to) | Action::JumpIfChanged(to) = &mut self.commands[last].action
            {
                *to = Some(here);
            }
            return Ok(None);
        }
        let label = self.label(name);
        if label.at.is_none() {
            label.wanted.push(here);
        }
        Ok(label.at)
    }
}

/// Lines of a script; a backslash takes the meaning from the end of one.
fn lines(text: &[u8]) -> Vec<&[u8]> {
    let (mut lines, mut begin, mut is_escaped) = (Vec::new(), 0, false);
    for (at, byte) in text.iter().enumerate() {
        if *byte == b'\n' && !is_escaped {
            lines.push(&text[begin..at]);
            begin = at + 1;
        }
        is_escaped = *byte == b'\\' && !is_escaped;
    }
    lines.push(&text[begin..]);
    lines
}

/// The text of `a`, `i` and `c`, which stands on lines of its own, without the blanks before it.
fn text(rest: &mut &[u8], line: &[u8]) -> Result<Vec<u8>, Wrong> {
    take(rest, b'\\');
    if !take(rest, b'\n') {
        return Err(garbled(line));
    }
    let mut text = Vec::new();
    let mut begins = true;
    while let Some(byte) = next(rest) {
        if begins && b" \t".contains(&byte) {
            continue;
        }
        let byte = if byte == b'\\' { next(rest).unwrap_or(b'\\') } else { byte };
        begins = byte == b'\n';
        text.push(byte);
    }
    Ok(text)
}

fn replacement(rest: &mut &[u8], delimiter: u8, groups: usize, line: &[u8]) -> Result<Vec<Piece>, Wrong> {
    let (mut pieces, mut text) = (Vec::new(), Vec::new());
    let open = || format!("ending delimiter missing on substitution: {}", String::from_utf8_lossy(line));
    loop {
        let byte = next(rest).ok_or_else(open)?;
        let piece = match byte {
            b'\\' => match next(rest).ok_or_else(open)? {
                digit @ b'1'..=b'9' => {
                    let group = usize::from(digit - b'1');
                    if group >= groups.min(GROUPS) {
                        let line = String::from_utf8_lossy(line);
                        return Err(format!("\"\\digit\" out of range: {line}"));
                    }
                    Piece::Group(group)
                }
                byte => {
                    text.push(byte);
                    continue;
                }
            },
            byte if byte == delimiter => break,
            b'&' => Piece::Whole,
            byte => {
                text.push(byte);
                continue;
            }
        };
        if !text.is_empty() {
            pieces.push(Piece::Text(std::mem::take(&mut text)));
        }
        pieces.push(piece);
    }
    if !text.is_empty() {
        pieces.push(Piece::Text(text));
    }
    Ok(pieces)
}

/// `y/abc/xyz/`
fn translation(rest: &mut &[u8], line: &[u8]) -> Result<Box<[u8; 256]>, Wrong> {
    let open = || format!("ending delimiter missing on string: {}", String::from_utf8_lossy(line));
    let delimiter = next(rest).ok_or_else(open)?;
    let mut part = || -> Result<Vec<u8>, Wrong> {
        let mut bytes = Vec::new();
        loop {
            let byte = next(rest).filter(|byte| *byte != b'\n').ok_or_else(open)?;
            match (byte, rest.first()) {
                (byte, _) if byte == delimiter => return Ok(bytes),
                (b'\\', Some(b'n')) => {
                    *rest = &rest[1..];
                    bytes.push(b'\n');
                }
                (b'\\', Some(escaped)) if *escaped == delimiter || *escaped == b'\\' => {
                    bytes.push(*escaped);
                    *rest = &rest[1..];
                }
                _ => bytes.push(byte),
            }
        }
    };
    let (from, to) = (part()?, part()?);
    if from.len() != to.len() {
        return Err(format!("strings are not of the same size: {}", String::from_utf8_lossy(line)));
    }
    let mut table = Box::new(std::array::from_fn(|byte| byte as u8));
    for (from, to) in from.into_iter().zip(to) {
        table[usize::from(from)] = to;
    }
    Ok(table)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn script(parts: &[&str]) -> Result<Script, String> {
        let mut script = Script::default();
        for part in parts {
            script.add(part.as_bytes())?;
        }
        Ok(script)
    }

    #[test]
    fn what_is_wrong_is_told() {
        for (wrong, why) in [
            ("k", "unrecognized"),
            ("1,2=", "one address"),
            ("1,/a/q", "one address"),
            ("1}", "no addresses"),
            ("}", "too many }'s"),
            ("1:a", "no addresses"),
            ("s/a/b", "ending delimiter"),
            ("s/a", "delimiter"),
            ("s/a/\\1/", "out of range"),
            ("s//b/", "no remembered"),
            ("s/a/b/600", "too large"),
            ("s/a/b/gx", "garbled"),
            ("s/a/b/w /tmp/x", "not supported"),
            ("w /tmp/x", "not supported"),
            ("r /etc/passwd", "not supported"),
            ("p p", "garbled"),
            ("{p}", "garbled"),
            ("1,p", "garbled"),
            ("a text", "garbled"),
            (":12345678", "too long"),
            (":a\n:a", "duplicate"),
            ("y/ab/c/", "same size"),
            ("y/ab/cd", "ending delimiter"),
        ] {
            assert!(script(&[wrong]).unwrap_err().contains(why), "{wrong}");
        }
    }

    #[test]
    fn what_is_open_is_no_script_yet() {
        assert!(script(&["/a/{s/b/c/"]).unwrap().is_complete().is_err());
        assert!(script(&["/a/{s/b/c/", "}"]).unwrap().is_complete().is_ok());
        assert!(script(&["b x"]).unwrap().is_complete().is_err());
        assert!(script(&["b x", ":x"]).unwrap().is_complete().is_ok());
    }
}
