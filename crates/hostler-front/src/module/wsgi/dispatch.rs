//! `WSGIDispatchScript`: a script in Python that says for each request in which groups the application runs, and what it is
//! called. It is asked as those are that guard, in a worker of the site's that is in no process group.
//!
//! Its answer chooses among what is configured: a process group that is not there, or that `WSGIRestrictProcess` does not
//! allow, answers nothing. Where it can't be asked nothing is answered, either: it may be what keeps applications apart.

use super::guard;
use super::told::MatchedRules;
use crate::log::{self, Severity};
use crate::request::Request;
use crate::request::flow::Halt;
use hostler_python_frames::guard::{GuardReply, Question};
use hostler_python_technique::{DIR, LOG, Where};

/// Longest name of a group or an application, in bytes: the front keeps those that there are.
const LONGEST: usize = 255;

/// Returns where the application runs, as the script decides; `None`: there is no script.
pub(super) async fn dispatched(request: &mut Request, led: MatchedRules) -> Result<Option<Where>, Halt> {
    let dir = request.resource.dir.clone();
    let Some(script) = &dir.part(&DIR).dispatch else { return Ok(None) };
    let said = guard::ask(request, script, led, Question::Dispatch).await?;
    let GuardReply::Places([process_group, application_group, callable]) = said else {
        let why = format!("the WSGI dispatch script '{}' has not said where to run", script.script);
        log::request(request, Severity::Error, LOG, &why);
        return Err(Halt::Status(500));
    };
    let all = [&process_group, &application_group, &callable];
    if all.into_iter().flatten().any(|name| name.len() > LONGEST) {
        let why =
            format!("the WSGI dispatch script '{}' says a name of more than {LONGEST} bytes", script.script);
        log::request(request, Severity::Error, LOG, &why);
        return Err(Halt::Status(500));
    }
    let text = |name: Option<Vec<u8>>| name.map(|name| String::from_utf8_lossy(&name).into());
    Ok(Some(Where {
        process_group: text(process_group),
        application_group: text(application_group),
        callable: text(callable),
        pass_authorization: None,
    }))
}
