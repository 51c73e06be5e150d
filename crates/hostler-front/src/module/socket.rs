//! Programs at sockets that answer as CGI programs do: FastCGI, SCGI, uwsgi. What the URL of one means ([`worker`]), and
//! how a request goes there and its answer back ([`talk`]), whoever has named it.
//!
//! **Diagnostics**: everything goes to the virtual host's ErrorLog under the module that asks: the program's own lines as
//! they come, and for each 5xx one line with the cause and the id that the error page shows.

pub(crate) mod fast;
pub(crate) mod talk;
pub(crate) mod worker;
