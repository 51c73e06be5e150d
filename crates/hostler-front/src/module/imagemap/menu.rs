//! The menu of a map: its places as links, for whoever has no pointer.

use hostler_cgi::escape_html;
use hostler_config::directives::alias::push_escaped_path;

/// ImapMenu.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// With a heading, and one place in a line.
    Formatted,
    /// With comments and blank lines of the map.
    Semiformatted,
    /// As the map's comments say.
    Unformatted,
    /// None of these: nothing but the page.
    Other,
}

impl Form {
    pub(super) fn named(name: &str) -> Self {
        match &name.to_ascii_lowercase()[..] {
            "formatted" => Self::Formatted,
            "semiformatted" => Self::Semiformatted,
            "unformatted" => Self::Unformatted,
            _ => Self::Other,
        }
    }
}

/// A menu while it is written.
pub(super) struct Menu {
    form: Form,
    out: Vec<u8>,
}

impl Menu {
    pub(super) fn new(form: Form, uri: &[u8]) -> Self {
        let name = escape_html(uri);
        let mut menu = Self { form, out: Vec::new() };
        menu.say(b"<!DOCTYPE HTML PUBLIC \"-//W3C//DTD HTML 4.01//EN\" \"http://www.w3.org/TR/html4/strict.dtd\">\n");
        menu.say(b"<html><head>\n<title>Menu for ");
        menu.say(&name);
        menu.say(b"</title>\n</head><body>\n");
        if form == Form::Formatted {
            menu.say(b"<h1>Menu for ");
            menu.say(&name);
            menu.say(b"</h1>\n<hr />\n\n");
        }
        menu
    }

    /// Bytes that it has by now.
    pub(super) fn len(&self) -> usize {
        self.out.len()
    }

    fn say(&mut self, text: &[u8]) {
        self.out.extend_from_slice(text);
    }

    pub(super) fn blank(&mut self) {
        match self.form {
            Form::Formatted | Form::Unformatted => self.say(b"\n"),
            Form::Semiformatted => self.say(b"<br />\n"),
            Form::Other => {}
        }
    }

    /// A comment is the author's HTML.
    pub(super) fn comment(&mut self, comment: &[u8]) {
        match self.form {
            Form::Formatted => self.say(b"\n"),
            Form::Semiformatted | Form::Unformatted if !comment.is_empty() => {
                self.say(comment);
                self.say(b"\n");
            }
            _ => {}
        }
    }

    pub(super) fn default(&mut self, place: &[u8], title: &[u8]) {
        self.link(b"<pre>(Default) ", place, title);
    }

    pub(super) fn area(&mut self, place: &[u8], title: &[u8]) {
        self.link(b"<pre>          ", place, title);
    }

    fn link(&mut self, start: &[u8], place: &[u8], title: &[u8]) {
        if place.eq_ignore_ascii_case(b"error") || place.eq_ignore_ascii_case(b"nocontent") {
            return;
        }
        let (start, end): (&[u8], &[u8]) = match self.form {
            Form::Formatted | Form::Semiformatted => (start, b"</pre>\n"),
            Form::Unformatted => (b"", b""),
            Form::Other => return,
        };
        self.say(start);
        self.say(b"<a href=\"");
        let mut escaped = Vec::new();
        push_escaped_path(place, &mut escaped);
        self.say(&escape_html(&escaped));
        self.say(b"\">");
        self.say(&escape_html(title));
        self.say(b"</a>");
        self.say(end);
    }

    /// Marks the rest of a map as unreadable.
    pub(super) fn broken(&mut self) {
        self.say(b"\n\n[an internal server error occured]\n");
    }

    pub(super) fn end(mut self) -> Vec<u8> {
        self.say(b"\n\n</body>\n</html>\n");
        self.out
    }
}
