//! Programs that are there already under the name of a file (`FastCgiExternalServer`): the operator has said where they are.
//! The file itself need not be there.

use super::{MODULE_NAME, pass_fields, status};
use crate::io::body::Body;
use crate::module::cgi;
use crate::module::proxy_fcgi::{MOST, connections};
use crate::module::socket::talk::{Ask, Redirects, respond};
use crate::request::Request;
use crate::request::flow::Halt;
use crate::technique::sockets::{Address, Target};
use hostler_config::directives::fcgid::External;
use hostler_gateway::backend::fastcgi::FastCgi;
use hostler_gateway::backend::stream::{Keep, Role};
use std::sync::Arc;
use std::time::Duration;

/// The one that the request's file stands for.
pub(super) fn of(request: &Request) -> Option<Arc<External>> {
    let externals = &request.server.conf.fcgid.externals;
    if externals.is_empty() {
        return None;
    }
    externals.get(std::str::from_utf8(&request.resource.filename).ok()?).cloned()
}

pub(super) async fn handle(request: &mut Request, external: &External) -> Result<Body, Halt> {
    let mut environment = cgi::environment(request).await;
    pass_fields(request, &mut environment);
    let timeout = Duration::from_secs(external.timeout.unwrap_or(30).into());
    let connect = external.connect_timeout.filter(|seconds| *seconds > 0);
    let address = match (&external.socket, &external.host) {
        (Some(path), _) => Address::Unix(path.as_bytes().into()),
        (None, Some((host, port))) => Address::Tcp { host: host.clone(), port: *port },
        (None, None) => return Err(Halt::Status(500)),
    };
    let target = Arc::new(Target {
        address,
        connect_timeout: connect.map_or(timeout, |seconds| Duration::from_secs(seconds.into())),
        settings: connections(request, MOST),
    });
    let ask = Ask {
        target,
        environment,
        // As mod_fastcgi has it: who accepts connections is somebody else's.
        keep: Keep::Nothing,
        role: Role::Responder,
        file: None,
        timeout,
        module: MODULE_NAME,
        redirects: Redirects::Cgi,
        status,
    };
    respond::<FastCgi>(request, ask).await
}
