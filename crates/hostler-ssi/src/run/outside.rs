//! Elements that stop for a [`Need`](crate::Need): `include`, `fsize`, `flastmod`, `exec`.
//!
//! A need ends [`Scene::element`] with [`Flow::Wait`]; when the answer is there, the same element is carried
//! out again, from the action it had come to.

use super::scene::{Printable, Scene, Unknown};
use super::{Flow, Pending};
use crate::host::{Host, Severity, Zone};
use crate::need::{Answer, FileFact, FileReference, Output, SizeFormat};
use crate::path::relative;
use crate::program::{ExecAction, FileAction, IncludeAction};
use crate::size::{abbreviated_size, size_with_commas};
use crate::value::Value;
use hostler_cgi::write_html;

impl<H: Host + ?Sized, O: Output + ?Sized> Scene<'_, H, O> {
    /// Includes each in turn. After a failure `virtual` is passed over, and only now `onerror` counts;
    /// Quirk(Apache): `file` is still tried. What fails after a failure ends the element.
    pub(super) fn include(&mut self, actions: &[IncludeAction]) -> Flow {
        if let Some(answer) = self.state.answer.take() {
            let failure = failure(answer);
            self.state.action += 1;
            if self.included(failure) {
                return self.end_include();
            }
        }
        while let Some(action) = actions.get(self.state.action) {
            let failed = self.state.include_failed;
            match action {
                IncludeAction::File(value) => {
                    if self.relative_target(value) {
                        return Flow::Wait(Pending::Include(FileReference::File));
                    }
                    if self.included(Some("the path is not below the document's directory".into())) {
                        break;
                    }
                }
                IncludeAction::Virtual(value) if !failed => return self.include_virtual(value),
                IncludeAction::OnError(value) if failed => return self.include_virtual(value),
                IncludeAction::Virtual(_) | IncludeAction::OnError(_) => {}
                IncludeAction::Unknown(name) => {
                    self.error(format_args!("unknown attribute \"{}\" of include element", Printable(name)));
                    break;
                }
            }
            self.state.action += 1;
        }
        self.end_include()
    }

    fn include_virtual(&mut self, value: &Value) -> Flow {
        self.target(value, Unknown::Drop);
        Flow::Wait(Pending::Include(FileReference::Virtual))
    }

    /// Notes how an include went; true if the element ends.
    fn included(&mut self, failure: Option<String>) -> bool {
        let failed_before = std::mem::replace(&mut self.state.include_failed, failure.is_some());
        let Some(reason) = failure else { return false };
        let target = Printable(&self.state.target);
        self.log(Severity::Error, format_args!("unable to include \"{target}\": {reason}"));
        failed_before
    }

    fn end_include(&mut self) -> Flow {
        if std::mem::take(&mut self.state.include_failed) {
            self.error_message();
        }
        Flow::Next
    }

    /// `fsize` and `flastmod`.
    pub(super) fn file(&mut self, fact: FileFact, actions: &[FileAction]) -> Flow {
        if let Some(answer) = self.state.answer.take() {
            self.state.action += 1;
            if !self.show_file(fact, answer) {
                return Flow::Next;
            }
        }
        match actions.get(self.state.action) {
            None => {}
            Some(FileAction::File(value)) => {
                if self.relative_target(value) {
                    return Flow::Wait(Pending::File(FileReference::File, fact));
                }
                let target = std::mem::take(&mut self.state.target);
                let target = Printable(&target);
                self.error(format_args!("\"{target}\" is not below the document's directory"));
            }
            Some(FileAction::Virtual(value)) => {
                self.target(value, Unknown::Drop);
                return Flow::Wait(Pending::File(FileReference::Virtual, fact));
            }
            Some(FileAction::Unknown(name)) => {
                self.error(format_args!(
                    "unknown attribute \"{}\" of {} element",
                    Printable(name),
                    fact.element()
                ));
            }
        }
        Flow::Next
    }

    /// False if the element ends because of an error.
    fn show_file(&mut self, fact: FileFact, answer: Answer) -> bool {
        let (size, modified) = match answer {
            Answer::File { size, modified } => (size, modified),
            answer => {
                let reason = failure(answer).unwrap_or_default();
                let target = std::mem::take(&mut self.state.target);
                self.error(format_args!("unable to look at \"{}\": {reason}", Printable(&target)));
                return false;
            }
        };
        let mut text = std::mem::take(&mut self.state.scratch);
        text.clear();
        match (fact, self.state.size_format, size) {
            (FileFact::Size, SizeFormat::Bytes, Some(size)) => size_with_commas(size, &mut text),
            (FileFact::Size, _, _) => abbreviated_size(size, &mut text),
            (FileFact::Modified, _, _) => {
                self.host.format_time(modified, Zone::Local, &self.state.settings.time_format, &mut text);
            }
        }
        self.out.text(&text);
        self.give_back(text);
        true
    }

    pub(super) fn exec(&mut self, actions: &[ExecAction]) -> Flow {
        if self.state.settings.no_exec {
            self.error(format_args!("exec is not allowed here (Options IncludesNOEXEC)"));
            return Flow::Next;
        }
        if let Some(answer) = self.state.answer.take() {
            self.state.action += 1;
            if !self.executed(answer) {
                return Flow::Next;
            }
        }
        match actions.get(self.state.action) {
            None => Flow::Next,
            Some(ExecAction::Command(value)) => {
                self.target(value, Unknown::Keep);
                Flow::Wait(Pending::Command)
            }
            Some(ExecAction::Cgi(value)) => {
                self.target(value, Unknown::Drop);
                Flow::Wait(Pending::Cgi)
            }
            Some(ExecAction::Unknown(name)) => {
                self.error(format_args!("unknown attribute \"{}\" of exec element", Printable(name)));
                Flow::Next
            }
        }
    }

    /// Shows a redirection as a link; false if the element ends because of an error.
    fn executed(&mut self, answer: Answer) -> bool {
        if let Answer::Location(url) = &answer {
            self.out.text(b"<a href=\"");
            write_html(url, |part| self.out.text(part));
            self.out.text(b"\">");
            write_html(url, |part| self.out.text(part));
            self.out.text(b"</a>");
        } else if let Some(reason) = failure(answer) {
            let target = std::mem::take(&mut self.state.target);
            self.error(format_args!("unable to execute \"{}\": {reason}", Printable(&target)));
            return false;
        }
        true
    }

    /// Builds the pending need's target.
    fn target(&mut self, value: &Value, unknown: Unknown) {
        let mut target = std::mem::take(&mut self.state.target);
        target.clear();
        self.lookup().expand(value, unknown, &mut target);
        self.state.target = target;
    }

    /// The same for a path; false if it does not stay below the document's directory.
    fn relative_target(&mut self, value: &Value) -> bool {
        self.target(value, Unknown::Drop);
        let Some(path) = relative(&self.state.target) else { return false };
        self.state.target = path;
        true
    }
}

/// Why an answer is not a fulfilment.
fn failure(answer: Answer) -> Option<String> {
    match answer {
        Answer::Done => None,
        Answer::Failed(reason) => Some(reason),
        Answer::Location(_) | Answer::File { .. } => Some("the answer is of another kind".into()),
    }
}

impl FileFact {
    fn element(self) -> &'static str {
        match self {
            FileFact::Size => "fsize",
            FileFact::Modified => "flastmod",
        }
    }
}
