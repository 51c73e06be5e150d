//! Scripts that guard: a question of the front's, the function of a script that answers it, and what that says.

use crate::environ;
use crate::exchange::{self, with};
use crate::py::{self, Object, Outcome, PythonError};
use crate::worker::{Directory, Server, Worker};
use hostler_python_frames::guard::{GuardQuestion, GuardReply, Question};
use hostler_wire::codec::Encoder;
use hostler_wire::work::{Outcome as End, RequestHead};
use pyo3_ffi as ffi;

/// Asks the script, and tells the front what it has said.
pub(crate) fn answer(
    worker: &mut Worker,
    head: &RequestHead<'_>,
    server: &Server,
    directory: &Directory,
    serial: u64,
) -> Outcome<()> {
    let Ok(asked) = GuardQuestion::decode(head.own) else {
        return with(serial, |exchange| {
            exchange.trip.malformed();
            Ok(())
        });
    };
    let environment = environ::of_guard(worker, server, directory, head)?;
    let script = String::from_utf8_lossy(asked.script);
    let (name, first, second) = match asked.question {
        Question::Access { host } => ("allow_access", host, None),
        Question::Password { user, password } => ("check_password", user, Some(password)),
        Question::Digest { user, realm } => ("get_realm_hash", user, Some(realm)),
        Question::Groups { user } => ("groups_for_user", user, None),
    };
    let second = second.map(py::bytes).transpose()?;
    let (script, name, first) = (py::text(&script)?, py::text(name)?, py::bytes(first)?);
    let reloading = py::truth(directory.reloading)?;
    let mut arguments = vec![&script, &name, &reloading, &environment, &first];
    arguments.extend(&second);
    let said = said(&worker.support.call(c"ask", &arguments)?)?;
    exchange::with(serial, |exchange| {
        let mut bytes = Vec::new();
        said.encode(&mut Encoder(&mut bytes));
        exchange.trip.write(&bytes);
        exchange.trip.finish(&End::Done);
        Ok(())
    })
}

/// What the function of `support.py` gives: a list of bytes, of which the first is a word.
fn said(list: &Object) -> Outcome<GuardReply> {
    // SAFETY: an object; its items are borrowed while it has them, and shared here.
    let items: Vec<Vec<u8>> = unsafe {
        (0..ffi::PyList_Size(list.as_ptr()))
            .map(|at| Object::borrowed(ffi::PyList_GetItem(list.as_ptr(), at)))
            .map(|item| Ok(item?.bytes().ok_or(PythonError)?.to_vec()))
            .collect::<Outcome<_>>()?
    };
    let mut items = items.into_iter();
    let word = items.next().unwrap_or_default();
    Ok(match (&word[..], items.next()) {
        (b"yes", None) => GuardReply::Yes,
        (b"no", None) => GuardReply::No,
        (b"nothing", None) => GuardReply::Nothing,
        (b"user", Some(name)) => GuardReply::User(name),
        (b"digest", Some(digest)) => GuardReply::Digest(digest),
        (b"groups", first) => GuardReply::Groups(first.into_iter().chain(items).collect()),
        _ => GuardReply::Failed,
    })
}
