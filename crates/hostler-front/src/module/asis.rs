//! mod_asis: files that bring their own header, as a program's answer does.

use crate::hook::registry::{Handler, Module};
use crate::io::body::{Body, BodyError};
use crate::limits::kept;
use crate::log::{self, Severity};
use crate::module::cgi;
use crate::module::core::file;
use crate::request::Request;
use crate::request::flow::Halt;

pub(crate) static MODULE: Module = Module {
    handlers: &[Handler {
        names: &["send-as-is"],
        types: &[],
        when: |_| true,
        settles: false,
        run: |request| Box::pin(handle(request)),
    }],
    ..Module::new("asis", |_| false)
};

/// Longest file, in bytes.
const LONGEST: usize = 16 << 20;

async fn handle(request: &mut Request) -> Result<Body, Halt> {
    let file = file::check_path(request, true)?;
    let text = kept::collect(request, file::whole(&file), LONGEST).await.map_err(|why| {
        let message = format!("{}: {why}", String::from_utf8_lossy(&request.resource.filename));
        log::request(request, Severity::Error, "asis", &message);
        Halt::Status(if matches!(why, BodyError::Crowded) { why.status() } else { 500 })
    })?;
    cgi::static_answer(request, &text).await
}
