//! FastCGI programs that filter files (FastCGI §6.4): the handler `fcgid-filter`, and the program that FcgidWrapper names for
//! the file. It gets what a responder gets, then the file; what it answers is sent. mod_fcgid has no such programs.

use super::{MODULE_NAME, check, known, limit_body, refuse, status, told};
use crate::io::body::{Body, RequestBody};
use crate::module::core::file;
use crate::module::socket::talk::{Ask, Redirects, respond};
use crate::request::Request;
use crate::request::flow::Halt;
use crate::request::reply::Marks;
use hostler_config::DirConfig;
use hostler_gateway::backend::fastcgi::FastCgi;
use hostler_gateway::backend::stream::{Keep, Role};

pub(super) async fn handle(request: &mut Request, dir: &DirConfig) -> Result<Body, Halt> {
    let wrapper = dir.fcgid.wrapper(&request.resource.filename);
    check(request, wrapper)?;
    if wrapper.is_none() {
        return Err(refuse(
            request,
            500,
            "no program filters it (FcgidWrapper with the file's suffix names one)",
        ));
    }
    limit_body(request)?;
    let source = file::check(request)?;
    let mut environment = told(request).await;
    environment.set("FCGI_DATA_LAST_MOD", source.info.mtime.to_string());
    environment.set("FCGI_DATA_LENGTH", source.info.size.to_string());
    let (target, timeout) = known(request, wrapper);
    let ask = Ask {
        target,
        environment,
        keep: Keep::Connection,
        role: Role::Filter,
        file: Some(RequestBody::of_answer(file::whole(&source))),
        timeout,
        module: MODULE_NAME,
        redirects: Redirects::Cgi,
        status,
    };
    request.reply.marks.set(Marks::FLUSHED);
    respond::<FastCgi>(request, ask).await
}
