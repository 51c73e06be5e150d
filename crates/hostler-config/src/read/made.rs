//! Directives that code may build (`<Perl>` sections, `add_config`). The code can come from modules that others than root may write,
//! so what root acts on is not its to say: who processes run as, what is opened, read or bound as root, what holds for
//! all sites. What may stand in .htaccess may be built, and what is named here; a new directive may not until somebody
//! has thought about it.

use crate::modules;
use crate::table::Action;

/// Directives that are not allowed in .htaccess and can be built nevertheless: sections, mapping of URLs, Perl.
const ALLOWED: &[&str] = &[
    "VirtualHost",
    "Directory",
    "DirectoryMatch",
    "Location",
    "LocationMatch",
    "Files",
    "FilesMatch",
    "If",
    "ElseIf",
    "Else",
    "Limit",
    "LimitExcept",
    "Proxy",
    "ProxyMatch",
    "AllowOverride",
    "AllowOverrideList",
    "AccessFileName",
    "ServerAdmin",
    "ServerSignature",
    "UseCanonicalName",
    "UseCanonicalPhysicalPort",
    "DocumentRoot",
    "Alias",
    "AliasMatch",
    "AliasPreservePath",
    "ScriptAlias",
    "ScriptAliasMatch",
    "RedirectRelative",
    "Script",
    "HostnameLookups",
    "KeepAlive",
    "KeepAliveTimeout",
    "MaxKeepAliveRequests",
    "Timeout",
    "LimitRequestLine",
    "LimitRequestFields",
    "LimitRequestFieldSize",
    "LimitInternalRecursion",
    "MergeSlashes",
    // Code that code adds is run by the same process.
    "Perl",
    "PerlModule",
    "PerlRequire",
    "PerlPostConfigRequire",
    "PerlSetEnv",
    "PerlSetVar",
    "PerlAddVar",
    "PerlOptions",
    "PerlHandler",
    "PerlTransHandler",
    "PerlMapToStorageHandler",
    "PerlPostReadRequestHandler",
    "PerlInitHandler",
    "PerlChildInitHandler",
    "PerlChildExitHandler",
    "PerlPostConfigHandler",
    "PerlOpenLogsHandler",
];

/// Names by which a virtual host takes requests: for sections of the main server. One in a virtual host would take
/// another site's, too.
const NAMES: &[&str] = &["ServerName", "ServerAlias", "ServerPath", "NameVirtualHost"];

/// Conditions that look at nothing but the configuration.
const CONDITIONS: &[&str] = &["IfModule", "IfDefine", "IfDirective", "IfSection", "IfVersion"];

/// Returns whether code may build this line; `in_host`: code of a section in a virtual host.
///
/// # Errors
/// Why not, and what to do.
pub(super) fn may_be_built(name: &str, in_host: bool) -> Result<(), String> {
    // What is unknown is told of when it is carried out.
    let Some((_, directive)) = modules::find(name) else { return Ok(()) };
    let named = |names: &[&str]| names.contains(&directive.name);
    let settled_here = matches!(directive.action, Action::Read);
    // It names variables of root's environment.
    let is_roots = matches!(directive.name, "PassEnv" | "PerlPassEnv");
    if in_host && named(NAMES) {
        return Err(
            "cannot come from Perl code in a virtual host, which must not take another site's requests: write it \
             into the configuration itself"
                .to_owned(),
        );
    }
    let is_listed = [CONDITIONS, ALLOWED, NAMES].into_iter().any(named);
    if is_listed || (directive.contexts.in_htaccess() && !settled_here && !is_roots) {
        return Ok(());
    }
    Err("cannot come from Perl code, which is not root's alone: write it into the configuration itself"
        .to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_root_acts_on_cannot_be_built() {
        for name in [
            "Include",
            "IncludeOptional",
            "LoadModule",
            "LoadFile",
            "User",
            "Group",
            "AssignUserID",
            "HostlerUser",
            "Listen",
            "PidFile",
            "ErrorLog",
            "CustomLog",
            "TransferLog",
            "ScriptLog",
            "SSLCertificateFile",
            "SSLCertificateKeyFile",
            "SSLEngine",
            "TypesConfig",
            "ServerRoot",
            "Define",
            "UnDefine",
            "Macro",
            "Use",
            "PassEnv",
            "PerlPassEnv",
            "IfFile",
            "PerlSwitches",
            "HostlerSiteMemory",
            "HostlerSiteTasks",
            "LimitUIDRange",
            "EnableCapabilities",
            "MaxRequestWorkers",
            "ServerLimit",
            "Mutex",
            "CoreDumpDirectory",
            "PerlLoadModule",
            "PerlConfigRequire",
            "GlobalLog",
            "LogFormat",
        ] {
            assert!(may_be_built(name, false).is_err(), "{name}");
        }
        for name in
            ["SetHandler", "location", "VirtualHost", "Alias", "Require", "PerlResponseHandler", "NoSuchName"]
        {
            assert_eq!(may_be_built(name, false), Ok(()), "{name}");
        }
    }

    #[test]
    fn a_section_in_a_virtual_host_names_none() {
        for name in NAMES {
            assert_eq!(may_be_built(name, false), Ok(()), "{name}");
            assert!(may_be_built(name, true).is_err(), "{name}");
        }
        assert_eq!(may_be_built("Alias", true), Ok(()));
    }

    #[test]
    fn every_name_is_a_directive_s() {
        for name in ALLOWED.iter().chain(CONDITIONS).chain(NAMES) {
            assert!(modules::find(name).is_some_and(|(_, known)| known.name == *name), "{name}");
        }
    }
}
