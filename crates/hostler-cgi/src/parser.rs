//! Reading a header piece by piece, whichever kind it is.

use crate::header::Progress;
use crate::lines::{HeaderError, Limits, Lines};

/// A header that is made line by line.
pub trait TakeLine: Default {
    /// Takes one line; `Some` for the empty one that ends the header.
    ///
    /// # Errors
    /// The line can't be one of such a header.
    fn line(&mut self, line: &[u8]) -> Result<Option<()>, HeaderError>;
}

/// Reads a header from the beginning of a program's output.
#[derive(Debug)]
pub struct Parser<H> {
    lines: Lines,
    header: H,
    end: Option<Result<(), HeaderError>>,
}

impl<H: TakeLine> Parser<H> {
    /// A parser at the beginning of a program's output.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self { lines: Lines::new(limits), header: H::default(), end: None }
    }

    /// Takes the next bytes of the output. After the end it takes none and answers the same again.
    pub fn parse(&mut self, bytes: &[u8]) -> Progress {
        let mut consumed = 0;
        while self.end.is_none() && consumed < bytes.len() {
            match self.lines.take(&bytes[consumed..]) {
                Ok((taken, line)) => {
                    consumed += taken;
                    self.end = line.and_then(|line| self.header.line(&line).transpose());
                }
                Err(error) => self.end = Some(Err(error)),
            }
        }
        match &self.end {
            None => Progress::More,
            Some(Ok(())) => Progress::Complete { consumed },
            Some(Err(error)) => Progress::Failed(error.clone()),
        }
    }

    /// Returns the error of output that ends here, before the header is complete.
    #[must_use]
    pub fn ended(&self) -> HeaderError {
        match &self.end {
            Some(Err(error)) => error.clone(),
            _ if self.lines.any() => HeaderError::Premature,
            _ => HeaderError::Nothing,
        }
    }

    /// The header; what has been read of it, if it was not complete.
    #[must_use]
    pub fn into_header(self) -> H {
        self.header
    }
}
