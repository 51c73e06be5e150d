//! The steps after all lines have been read: which workers exist, and which mounts apply where.

use super::mounts::{Mount, Source, sort};
use super::properties::{Property, together, words};
use super::workers;
use crate::ServerConfig;
use crate::builder::Builder;
use std::sync::Arc;

/// Completes the main server and the virtual hosts that were merged over it.
pub(crate) fn finish<'s>(
    main: &mut ServerConfig,
    hosts: impl Iterator<Item = &'s mut ServerConfig>,
    builder: &mut Builder,
) {
    let properties = match together(&main.jk.properties) {
        Ok(properties) => properties,
        Err((origin, why)) => return builder.error(origin, "JkWorkerProperty", why, String::new()),
    };
    let mut warnings = Vec::new();
    let made = match workers::of(&properties, &mut warnings) {
        Ok(made) => Arc::from(made),
        Err((origin, why)) => return builder.error(origin, "JkWorkerProperty", why, String::new()),
    };
    for (origin, why) in warnings {
        builder.warn(origin, why);
    }
    if main.jk.is_set() {
        main.jk.workers = Arc::clone(&made);
        let mounted = mounts_of(&properties, builder);
        main.jk.mounts.extend(mounted);
        complete(main, false, builder);
    }
    for host in hosts.filter(|host| host.jk.is_set()) {
        host.jk.workers = Arc::clone(&made);
        complete(host, true, builder);
    }
}

/// Keeps the mounts that count.
fn complete(server: &mut ServerConfig, is_virtual: bool, builder: &mut Builder) {
    let copies = server.jk.copies.unwrap_or(server.jk.copies_all);
    let mut mounts = std::mem::take(&mut server.jk.mounts);
    if is_virtual {
        mounts.retain(|mount| mount.host.is_some() || copies);
    }
    for mount in &mounts {
        let is_known = &*mount.worker == "*" || server.jk.worker(&mount.worker).is_some();
        if !is_known && !mount.excludes {
            let why = format!(
                "{} is mounted on the worker {}, which does not exist (worker.list=): these URLs will get 500",
                mount.path, mount.worker
            );
            builder.warn_once(&format!("jk {} {}", mount.path, mount.worker), mount.origin, why);
        }
    }
    sort(&mut mounts);
    server.jk.mounts = mounts;
}

/// `worker.NAME.mount=`
fn mounts_of(properties: &[Property], builder: &mut Builder) -> Vec<Arc<Mount>> {
    let mut all = Vec::new();
    for property in properties {
        let Some(worker) = property.name.strip_prefix("worker.").and_then(|rest| rest.strip_suffix(".mount"))
        else {
            continue;
        };
        for path in words(&property.value) {
            match Mount::new(path, worker, (Source::Worker, None, property.origin)) {
                Ok(mounts) => all.extend(mounts),
                Err(why) => builder.error(property.origin, "JkWorkerProperty", why, String::new()),
            }
        }
    }
    all
}
