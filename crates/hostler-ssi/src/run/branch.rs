//! `if`, `elif`, `else`, `endif`, and what their expressions see.

use std::borrow::Cow;
use std::net::IpAddr;

use hostler_expr::legacy;
use hostler_expr::{
    Answer, Captures, EvalError, FileError, FileTest, Host as ExpressionHost, SubrequestTest, Variable,
};

use super::scene::{Lookup, Printable, Scene};
use super::{Flow, Pending};
use crate::host::{Host, Severity};
use crate::need::Output;
use crate::page::Page;
use crate::program::Condition;

/// The outcome of a condition.
enum Outcome {
    Known(bool),
    /// The error was logged and shown.
    Invalid,
    Wait(Pending),
}

impl<H: Host + ?Sized, O: Output + ?Sized> Scene<'_, H, O> {
    pub(super) fn r#if(&mut self, condition: &Condition) -> Flow {
        if !self.state.branch.printing {
            self.warn_of_arguments(condition);
            self.state.branch.skipped = self.state.branch.skipped.saturating_add(1);
            return Flow::Next;
        }
        match self.test(condition) {
            Outcome::Wait(pending) => return Flow::Wait(pending),
            Outcome::Known(value) => {
                self.take_branch(value);
                self.state.branch.skipped = 0;
            }
            Outcome::Invalid => self.fail_branch(),
        }
        Flow::Next
    }

    pub(super) fn elif(&mut self, condition: &Condition) -> Flow {
        if self.state.branch.skipped > 0 {
            self.warn_of_arguments(condition);
            return Flow::Next;
        }
        // The attributes are checked first, and their errors shown even where nothing else is.
        if self.state.branch.taken && condition.is_well_formed() {
            self.state.branch.printing = false;
            return Flow::Next;
        }
        match self.test(condition) {
            Outcome::Wait(pending) => return Flow::Wait(pending),
            Outcome::Known(value) => self.take_branch(value),
            Outcome::Invalid => self.fail_branch(),
        }
        Flow::Next
    }

    pub(super) fn r#else(&mut self, given: bool) {
        if self.state.branch.skipped > 0 {
            return self.warn_if_given(given, "else");
        }
        if given {
            self.log(Severity::Error, format_args!("else takes no arguments"));
            if self.state.branch.printing {
                self.error_message();
            }
            return;
        }
        if self.state.branch.failed {
            return;
        }
        let taken = self.state.branch.taken;
        self.take_branch(!taken);
        self.state.branch.taken = true;
    }

    pub(super) fn endif(&mut self, given: bool) {
        if self.state.branch.skipped > 0 {
            self.state.branch.skipped -= 1;
            return self.warn_if_given(given, "endif");
        }
        if given {
            return self.error(format_args!("endif takes no arguments"));
        }
        self.take_branch(true);
        self.state.branch.failed = false;
    }

    /// After a condition that could not be evaluated nothing is shown until an `elif` holds. Quirk(Apache):
    /// `else` means nothing any more, so what follows an `else` is shown if that `elif` was.
    fn fail_branch(&mut self) {
        self.take_branch(false);
        self.state.branch.failed = true;
    }

    fn take_branch(&mut self, value: bool) {
        self.state.branch.printing = value;
        self.state.branch.taken = value;
    }

    fn warn_if_given(&self, given: bool, element: &str) {
        if given {
            self.log(Severity::Warning, format_args!("{element} takes no arguments"));
        }
    }

    fn warn_of_arguments(&self, condition: &Condition) {
        match condition {
            Condition::NoArgument => self.log(Severity::Warning, format_args!("missing expr argument")),
            Condition::TooManyArguments => self.log(Severity::Warning, format_args!("too many arguments")),
            _ => {}
        }
    }

    fn test(&mut self, condition: &Condition) -> Outcome {
        let result = match condition {
            Condition::Expression(expression) => {
                let (view, captures) = self.view();
                expression.test(&view, captures)
            }
            Condition::Legacy(expression) => {
                let (view, captures) = self.view();
                expression.test(&view, captures)
            }
            _ => {
                self.malformed(condition);
                return Outcome::Invalid;
            }
        };
        match result {
            Ok(value) => Outcome::Known(value),
            Err(EvalError::Pending(question)) => Outcome::Wait(Pending::Expression(question)),
            Err(error) => {
                self.error(format_args!("could not evaluate the expression: {error}"));
                Outcome::Invalid
            }
        }
    }

    fn malformed(&mut self, condition: &Condition) {
        match condition {
            Condition::NoArgument => self.error(format_args!("missing expr argument")),
            Condition::TooManyArguments => self.error(format_args!("too many arguments")),
            Condition::NoValue => self.error(format_args!("missing value of expr")),
            Condition::UnknownAttribute(name) => {
                self.error(format_args!("unknown attribute \"{}\" where expr belongs", Printable(name)));
            }
            Condition::Unreadable(source, reason) => {
                let source = Printable(source.as_bytes());
                self.error(format_args!("could not read the expression \"{source}\": {reason}"));
            }
            Condition::Expression(_) | Condition::Legacy(_) => {}
        }
    }

    fn view(&mut self) -> (View<'_, H>, &mut Captures) {
        let time_format = &self.state.settings.time_format;
        let view = View { host: &*self.host, page: self.page, offset: self.node.at, time_format };
        (view, &mut self.state.captures)
    }
}

impl Condition {
    /// True if there is an expression, readable or not.
    fn is_well_formed(&self) -> bool {
        matches!(self, Condition::Expression(_) | Condition::Legacy(_) | Condition::Unreadable(..))
    }
}

/// The request as an expression in a page sees it: the host's view, but with the page's variables as its
/// environment.
struct View<'a, H: ?Sized> {
    host: &'a H,
    page: &'a Page,
    offset: usize,
    time_format: &'a [u8],
}

impl<H: Host + ?Sized> legacy::Host for View<'_, H> {
    fn variable(&self, name: &[u8]) -> Option<Cow<'_, [u8]>> {
        self.host.variable(name, self.time_format)
    }

    fn accessible(&self, uri: &[u8]) -> Answer<bool> {
        self.host.expression().subrequest(SubrequestTest::Uri, uri)
    }
}

impl<H: Host + ?Sized> ExpressionHost for View<'_, H> {
    fn request_env<'a>(&'a self, name: &[u8], captures: &'a Captures) -> Option<Cow<'a, [u8]>> {
        let View { host, page, offset, time_format } = *self;
        Lookup { host, page, offset, time_format, captures }.variable(name)
    }

    fn variable(&self, variable: Variable) -> Answer<Option<Cow<'_, [u8]>>> {
        self.host.expression().variable(variable)
    }

    fn ssl_variable(&self, name: &str) -> Answer<Option<Cow<'_, [u8]>>> {
        self.host.expression().ssl_variable(name)
    }

    fn request_header(&self, name: &[u8]) -> Option<Cow<'_, [u8]>> {
        self.host.expression().request_header(name)
    }

    fn response_header(&self, name: &[u8]) -> Option<Cow<'_, [u8]>> {
        self.host.expression().response_header(name)
    }

    fn note(&self, name: &[u8]) -> Option<Cow<'_, [u8]>> {
        self.host.expression().note(name)
    }

    fn os_env(&self, name: &[u8]) -> Option<Cow<'_, [u8]>> {
        self.host.expression().os_env(name)
    }

    fn varies_on(&self, header: &[u8]) {
        self.host.expression().varies_on(header);
    }

    fn file_test(&self, test: FileTest, path: &[u8]) -> Answer<bool> {
        self.host.expression().file_test(test, path)
    }

    fn file_contents(&self, path: &[u8]) -> Answer<Result<Cow<'_, [u8]>, FileError>> {
        self.host.expression().file_contents(path)
    }

    fn file_size(&self, path: &[u8]) -> Answer<Option<u64>> {
        self.host.expression().file_size(path)
    }

    fn file_modified(&self, path: &[u8]) -> Answer<Option<u64>> {
        self.host.expression().file_modified(path)
    }

    fn subrequest(&self, test: SubrequestTest, target: &[u8]) -> Answer<bool> {
        self.host.expression().subrequest(test, target)
    }

    fn remote_ip(&self) -> Option<IpAddr> {
        self.host.expression().remote_ip()
    }

    fn list(&self, function: &str, argument: &[u8]) -> Answer<Vec<Vec<u8>>> {
        self.host.expression().list(function, argument)
    }
}
