//! Access control: the order in which modules are asked, and `Satisfy` over their answers
//! (`ap_process_request_internal`). The answers are the modules'.

use crate::hook::phases::Phase;
use crate::hook::plan::{Which, plan, run, run_some};
use crate::log::{self, Severity};
use crate::request::Request;
use crate::request::flow::{Continue, Flow, Halt};
use std::sync::Arc;

/// Checks access; may log the user in.
pub(crate) async fn check(request: &mut Request) -> Continue {
    let dir = request.resource.dir.clone();
    strict(request).await?;
    let admitted = run_some(Phase::Access, request, Which::Satisfiable).await;
    if !Arc::ptr_eq(&dir, &request.resource.dir) {
        // Programs have added rules, perhaps such as were asked before them.
        strict(request).await?;
    }
    if !plan().decides(Phase::AccessEx, request) {
        run(Phase::AccessEx, request).await?;
        return admitted.map(drop);
    }
    let any = satisfies_any(request);
    match admitted {
        Err(Halt::Status(_)) if any => login(request).await,
        Err(halt) => Err(halt),
        Ok(_) if any => Ok(()),
        Ok(_) => login(request).await,
    }
}

/// Checks that neither `Satisfy` nor a login can bypass.
async fn strict(request: &mut Request) -> Continue {
    run_some(Phase::Access, request, Which::Strict).await?;
    // An internal redirect or include under the same rules was already checked: the user stays known.
    if plan().decides(Phase::AccessEx, request)
        && request.user.is_none()
        && let Some(prev) = &request.prev
        && Arc::ptr_eq(&prev.resource.dir, &request.resource.dir)
        && prev.reply.status < 400
    {
        request.user.clone_from(&prev.user);
        request.auth_type.clone_from(&prev.auth_type);
    }
    Ok(())
}

/// Returns whether an address that may come in, or a login, is enough (`Satisfy Any`).
pub(crate) fn satisfies_any(request: &Request) -> bool {
    request.resource.dir.access_compat.satisfies_any(&String::from_utf8_lossy(&request.target.method))
}

/// Admits requests that need no login; all others have to authenticate.
async fn login(request: &mut Request) -> Continue {
    if run(Phase::AccessEx, request).await? == Flow::Ok {
        return Ok(());
    }
    for phase in [Phase::Authn, Phase::Authz] {
        if run(phase, request).await? == Flow::Declined {
            let message = format!("no module has decided in the phase {phase:?}: nobody may see this");
            log::request(request, Severity::Error, "core", &message);
            return Err(Halt::Status(500));
        }
    }
    Ok(())
}
