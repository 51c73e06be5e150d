//! The Registry classes that a pool's sections name. They are ours, and loading them has no effect but time: done in the
//! parent, no worker has to do it at its first request. A site's own handlers are loaded when and where it says so.

use hostler_config::{DirConfig, Section, Server};
use hostler_perl_frames::{Phase, Preload, PreloadKind};
use std::collections::BTreeSet;
use std::sync::Arc;

/// All that there are.
const ALL: &[&str] = &[
    "Apache::PerlRun",
    "Apache::Registry",
    "Apache::RegistryBB",
    "Apache::RegistryNG",
    "ModPerl::PerlRun",
    "ModPerl::PerlRunPrefork",
    "ModPerl::Registry",
    "ModPerl::RegistryBB",
    "ModPerl::RegistryPrefork",
];

/// Returns the Registry classes that sections of these virtual hosts name for their responses, as something to load.
/// One that cannot be loaded reports that to the requests that want it.
pub(crate) fn of(members: &[&Server]) -> Option<Preload> {
    let mut named = BTreeSet::new();
    for server in members {
        in_dir(&server.defaults, &mut named);
        in_sections(&server.directories, &mut named);
        in_sections(&server.locations, &mut named);
    }
    let load: String = named.iter().map(|name| format!("eval {{ require {name} }}; ")).collect();
    (!load.is_empty()).then(|| Preload {
        kind: PreloadKind::LateCall,
        text: format!("sub {{ local ($@, $SIG{{__DIE__}}); {load}0 }}"),
        origin: String::new(),
        configured: false,
    })
}

fn in_dir(dir: &DirConfig, named: &mut BTreeSet<&'static str>) {
    for word in dir.perl.handlers.of(Phase::Response) {
        let package = word.strip_suffix("->handler").or_else(|| word.strip_suffix("::handler"));
        let package = package.unwrap_or(word);
        named.extend(ALL.iter().copied().find(|known| *known == package));
    }
    in_sections(&dir.core.files, named);
    in_sections(&dir.core.ifs, named);
}

fn in_sections(sections: &[Arc<Section>], named: &mut BTreeSet<&'static str>) {
    sections.iter().for_each(|section| in_dir(&section.conf, named));
}
