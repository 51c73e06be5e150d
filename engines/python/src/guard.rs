//! Scripts that guard, or choose where others run: a question of the front's, the functions of a script that answer it, and
//! what they say.

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
    let script = String::from_utf8_lossy(asked.script);
    if asked.question == Question::Dispatch {
        let environment = environ::of_dispatch(worker, server, directory, head)?;
        let arguments = [&py::text(&script)?, &py::truth(directory.reloading)?, &environment];
        return tell(serial, &places(&worker.support.call(c"choose", &arguments)?)?);
    }
    let environment = environ::of_guard(worker, server, directory, head)?;
    let (name, first, second) = match asked.question {
        Question::Access { host } => ("allow_access", host, None),
        Question::Password { user, password } => ("check_password", user, Some(password)),
        Question::Digest { user, realm } => ("get_realm_hash", user, Some(realm)),
        Question::Groups { user } => ("groups_for_user", user, None),
        Question::Dispatch => return Err(PythonError),
    };
    let second = second.map(py::bytes).transpose()?;
    let (script, name, first) = (py::text(&script)?, py::text(name)?, py::bytes(first)?);
    let reloading = py::truth(directory.reloading)?;
    let mut arguments = vec![&script, &name, &reloading, &environment, &first];
    arguments.extend(&second);
    tell(serial, &said(&worker.support.call(c"ask", &arguments)?)?)
}

fn tell(serial: u64, said: &GuardReply) -> Outcome<()> {
    exchange::with(serial, |exchange| {
        let mut bytes = Vec::new();
        said.encode(&mut Encoder(&mut bytes));
        exchange.trip.write(&bytes);
        exchange.trip.finish(&End::Done);
        Ok(())
    })
}

/// The items of a list.
fn items(list: &Object) -> Outcome<Vec<Object>> {
    // SAFETY: an object; its items are borrowed while it has them, and shared here.
    unsafe {
        (0..ffi::PyList_Size(list.as_ptr()))
            .map(|at| Object::borrowed(ffi::PyList_GetItem(list.as_ptr(), at)))
            .collect()
    }
}

/// Converts `choose`'s result: three places, each bytes or None; or nothing.
fn places(list: &Object) -> Outcome<GuardReply> {
    let mut all = items(list)?.into_iter().map(|item| item.bytes().map(<[u8]>::to_vec));
    match (all.next(), all.next(), all.next()) {
        (Some(process), Some(application), Some(callable)) => {
            Ok(GuardReply::Places([process, application, callable]))
        }
        _ => Ok(GuardReply::Failed),
    }
}

/// Converts `ask`'s result: a list of bytes, of which the first is a word.
fn said(list: &Object) -> Outcome<GuardReply> {
    let items = items(list)?.into_iter().map(|item| Ok(item.bytes().ok_or(PythonError)?.to_vec()));
    let mut items = items.collect::<Outcome<Vec<Vec<u8>>>>()?.into_iter();
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
