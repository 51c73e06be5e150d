//! Directives of Apache's core, and of the small modules that Hostler counts with it: mod_reqtimeout,
//! mod_allowmethods, mod_http2's basics, mpm-itk, and the few of its own.

mod content;
mod health;
mod limits;
mod mpm;
mod names;
mod options;
mod protocol;
mod sections;
mod types;
pub(crate) mod values;

pub(in crate::directives) use content::figures;
pub use health::HealthPaths;
pub(in crate::directives) use mpm::not_root;
pub use options::{Allow, AllowOverride, Nonfatal, OptionBits, Options, Permissions};
pub(in crate::directives) use sections::{make, pattern};
pub use types::{
    AcceptPathInfo, AssignUser, CanonicalName, DefaultCharset, EncodedSlashes, ErrorDocument, EtagParts,
    FileEtag, HostnameLookups, Http2, HttpProtocol, IdRange, RangeLimit, ReadTimeout, ReadTimeouts, Rlimit,
    ServerName, ServerTokens, Setting, Signature, Trace,
};

use crate::directives::pool::{NoNewPrivileges, SiteBounds, SiteLimits};
use crate::{Effect, Merge, Module, Section, over, unset_part};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Modules whose directives are in this folder.
pub static MODULES: &[&Module] = &[
    &Module {
        name: "core_module",
        file: "core.c",
        directives: sections::DIRECTIVES,
        effect: Effect::AsItsLines,
    },
    &Module { name: "core_module", file: "core.c", directives: names::DIRECTIVES, effect: Effect::Guards },
    &Module { name: "core_module", file: "core.c", directives: content::DIRECTIVES, effect: Effect::Guards },
    &Module { name: "core_module", file: "core.c", directives: options::DIRECTIVES, effect: Effect::Guards },
    &Module { name: "core_module", file: "core.c", directives: limits::DIRECTIVES, effect: Effect::Guards },
    &Module {
        name: "http_module",
        file: "http_core.c",
        directives: protocol::DIRECTIVES,
        effect: Effect::Guards,
    },
    &Module { name: "so_module", file: "mod_so.c", directives: &[], effect: Effect::Guards },
    &Module { name: "unixd_module", file: "mod_unixd.c", directives: mpm::UNIXD, effect: Effect::Guards },
    &Module { name: "mpm_prefork_module", file: "prefork.c", directives: mpm::MPM, effect: Effect::Harmless },
    &Module { name: "mpm_itk_module", file: "mpm_itk.c", directives: mpm::ITK, effect: Effect::Guards },
    &Module {
        name: "reqtimeout_module",
        file: "mod_reqtimeout.c",
        directives: protocol::REQTIMEOUT,
        effect: Effect::Guards,
    },
    &Module {
        name: "allowmethods_module",
        file: "mod_allowmethods.c",
        directives: protocol::ALLOWMETHODS,
        effect: Effect::Guards,
    },
    &Module {
        name: "request_module",
        file: "mod_request.c",
        directives: limits::REQUEST,
        effect: Effect::Guards,
    },
    &Module {
        name: "http2_module",
        file: "mod_http2.c",
        directives: protocol::HTTP2,
        effect: Effect::Harmless,
    },
    &Module { name: "version_module", file: "mod_version.c", directives: &[], effect: Effect::Guards },
    &Module { name: "macro_module", file: "mod_macro.c", directives: &[], effect: Effect::Guards },
    &Module {
        name: "hostler_module",
        file: "mod_hostler.c",
        directives: mpm::HOSTLER,
        effect: Effect::Guards,
    },
];

/// A directory's settings. `None`: not set; the defaults are in the fields' descriptions.
#[derive(Clone, Debug, Default)]
pub struct Dir {
    /// `Options` (default: FollowSymLinks).
    pub options: Options,
    /// `AllowOverride` (default: None). See [`Dir::allow`].
    pub allow_override: Option<AllowOverride>,
    /// `AllowOverrideList`, in lower case.
    pub allow_override_list: Option<Arc<BTreeSet<String>>>,
    /// Files sections, in order.
    pub files: Vec<Arc<Section>>,
    /// If sections, in order.
    pub ifs: Vec<Arc<Section>>,
    /// `AcceptPathInfo`
    pub accept_path_info: Option<AcceptPathInfo>,
    /// `AllowMethods`, upper case; empty: `reset`, all are allowed.
    pub allow_methods: Option<Vec<String>>,
    /// `ErrorDocument`, by status.
    pub error_documents: BTreeMap<u16, ErrorDocument>,
    /// `FileETag`
    pub etag: FileEtag,
    /// `EnableSendfile` (default Off in Apache; here a hint only).
    pub enable_sendfile: Option<bool>,
    /// `EnableMMAP` (a hint only).
    pub enable_mmap: Option<bool>,
    /// `ContentDigest` (default Off).
    pub content_digest: Option<bool>,
    /// `SetHandler`
    pub handler: Option<Setting>,
    /// True if the server's own configuration, no access file and no program, has the figures of all sites shown here.
    pub shows_figures: Option<bool>,
    /// `ForceType`
    pub force_type: Option<Setting>,
    /// `SetOutputFilter`: names in order, as written.
    pub output_filters: Option<Vec<String>>,
    /// `SetInputFilter`: the same for requests.
    pub input_filters: Option<Vec<String>>,
    /// `AddDefaultCharset` (default Off).
    pub default_charset: Option<DefaultCharset>,
    /// `RLimitCPU`, seconds.
    pub rlimit_cpu: Option<Rlimit>,
    /// `RLimitMEM`, bytes.
    pub rlimit_mem: Option<Rlimit>,
    /// `RLimitNPROC`
    pub rlimit_nproc: Option<Rlimit>,
    /// `NiceValue`
    pub nice: Option<u8>,
    /// `LimitRequestBody`, bytes; 0: no limit (default 1073741824).
    pub limit_request_body: Option<u64>,
    /// `KeptBodySize`, bytes; 0: none is kept (default 0).
    pub kept_body_size: Option<u64>,
    /// `LimitXMLRequestBody`, bytes.
    pub limit_xml_request_body: Option<u64>,
    /// `MaxRanges` (default 200).
    pub max_ranges: Option<RangeLimit>,
    /// `MaxRangeOverlaps` (default 20).
    pub max_range_overlaps: Option<RangeLimit>,
    /// `MaxRangeReversals` (default 20).
    pub max_range_reversals: Option<RangeLimit>,
    /// `ServerSignature` (default Off).
    pub server_signature: Option<Signature>,
    /// `HostnameLookups` (default Off).
    pub hostname_lookups: Option<HostnameLookups>,
    /// `UseCanonicalName` (default Off).
    pub use_canonical_name: Option<CanonicalName>,
    /// `UseCanonicalPhysicalPort` (default Off).
    pub use_canonical_physical_port: Option<bool>,
    /// `CGIPassAuth` (default Off).
    pub cgi_pass_auth: Option<bool>,
    /// `CGIVar REQUEST_URI current-uri|original-uri`: true for `current-uri`.
    pub cgi_request_uri_is_current: Option<bool>,
    /// `QualifyRedirectURL` (default Off).
    pub qualify_redirect_url: Option<bool>,
}

impl Dir {
    /// The directives allowed in .htaccess.
    #[must_use]
    pub fn allow(&self) -> Allow {
        Permissions::of(self).allow()
    }
}

impl Merge for Dir {
    #[allow(clippy::too_many_lines, reason = "one line per directive")]
    fn merge(&self, other: &Self) -> Self {
        let mut error_documents = self.error_documents.clone();
        error_documents.extend(other.error_documents.iter().map(|(status, what)| (*status, what.clone())));
        Self {
            options: self.options.merge(&other.options),
            allow_override: other.allow_override.or(self.allow_override),
            allow_override_list: over(&self.allow_override_list, &other.allow_override_list),
            files: appended(&self.files, &other.files),
            ifs: appended(&self.ifs, &other.ifs),
            accept_path_info: other.accept_path_info.or(self.accept_path_info),
            allow_methods: over(&self.allow_methods, &other.allow_methods),
            error_documents,
            etag: self.etag.merge(other.etag),
            enable_sendfile: other.enable_sendfile.or(self.enable_sendfile),
            enable_mmap: other.enable_mmap.or(self.enable_mmap),
            content_digest: other.content_digest.or(self.content_digest),
            handler: over(&self.handler, &other.handler),
            shows_figures: other.shows_figures.or(self.shows_figures),
            force_type: over(&self.force_type, &other.force_type),
            output_filters: over(&self.output_filters, &other.output_filters),
            input_filters: over(&self.input_filters, &other.input_filters),
            default_charset: over(&self.default_charset, &other.default_charset),
            rlimit_cpu: other.rlimit_cpu.or(self.rlimit_cpu),
            rlimit_mem: other.rlimit_mem.or(self.rlimit_mem),
            rlimit_nproc: other.rlimit_nproc.or(self.rlimit_nproc),
            nice: other.nice.or(self.nice),
            limit_request_body: other.limit_request_body.or(self.limit_request_body),
            kept_body_size: other.kept_body_size.or(self.kept_body_size),
            limit_xml_request_body: other.limit_xml_request_body.or(self.limit_xml_request_body),
            max_ranges: other.max_ranges.or(self.max_ranges),
            max_range_overlaps: other.max_range_overlaps.or(self.max_range_overlaps),
            max_range_reversals: other.max_range_reversals.or(self.max_range_reversals),
            server_signature: other.server_signature.or(self.server_signature),
            hostname_lookups: other.hostname_lookups.or(self.hostname_lookups),
            use_canonical_name: other.use_canonical_name.or(self.use_canonical_name),
            use_canonical_physical_port: other
                .use_canonical_physical_port
                .or(self.use_canonical_physical_port),
            cgi_pass_auth: other.cgi_pass_auth.or(self.cgi_pass_auth),
            cgi_request_uri_is_current: other.cgi_request_uri_is_current.or(self.cgi_request_uri_is_current),
            qualify_redirect_url: other.qualify_redirect_url.or(self.qualify_redirect_url),
        }
    }

    unset_part!(Dir);
}

fn appended(base: &[Arc<Section>], over: &[Arc<Section>]) -> Vec<Arc<Section>> {
    [base, over].concat()
}

/// A server's settings. `None`: not set; the defaults are in the fields' descriptions.
#[derive(Clone, Debug, Default)]
pub struct Server {
    /// `ServerName`; not inherited from the main server.
    pub server_name: Option<ServerName>,
    /// `ServerAlias`, lower case, without wildcards; not inherited.
    pub aliases: Vec<String>,
    /// `ServerAlias` with `*` or `?`, lower case; not inherited.
    pub wild_aliases: Vec<String>,
    /// `ServerPath`; not inherited.
    pub server_path: Option<String>,
    /// `ServerAdmin`
    pub admin: Option<String>,
    /// `DocumentRoot`, absolute, without a slash at the end.
    pub document_root: Option<String>,
    /// `AccessFileName` (default `.htaccess`).
    pub access_file_names: Option<Arc<[String]>>,
    /// `AssignUserID`; inherited.
    pub assign_user: Option<AssignUser>,
    /// `SuexecUserGroup` of this virtual host; not inherited. It has set `assign_user`.
    pub suexec_user: Option<AssignUser>,
    /// `HostlerSiteMemory`, `HostlerSiteCPU`, `HostlerSiteTasks`; inherited.
    pub site_limits: SiteLimits,
    /// `HostlerNoNewPrivileges`.
    pub no_new_privileges: Option<NoNewPrivileges>,
    /// `HostlerSitePrograms`, `HostlerSiteConnections`, `HostlerSiteRequests`; inherited.
    pub site_bounds: SiteBounds,
    /// `Timeout`, seconds (default 60).
    pub timeout: Option<u32>,
    /// `KeepAlive` (default On).
    pub keep_alive: Option<bool>,
    /// `KeepAliveTimeout`, milliseconds (default 5000).
    pub keep_alive_timeout: Option<u64>,
    /// `MaxKeepAliveRequests`; 0: no limit (default 100).
    pub max_keep_alive_requests: Option<u32>,
    /// `RequestReadTimeout`
    pub read_timeouts: ReadTimeouts,
    /// `LimitRequestLine`, bytes (default 8190).
    pub limit_request_line: Option<u32>,
    /// `LimitRequestFields`; 0: no limit (default 100).
    pub limit_request_fields: Option<u32>,
    /// `LimitRequestFieldSize`, bytes (default 8190).
    pub limit_request_field_size: Option<u32>,
    /// `LimitInternalRecursion`: internal redirects, sub-requests (default 10).
    pub limit_internal_recursion: Option<(u32, u32)>,
    /// `HostlerRequestBudget`, milliseconds (default 2000).
    pub request_budget: Option<u32>,
    /// `HostlerWaitTimeout`, seconds.
    pub wait_timeout: Option<u32>,
    /// `TraceEnable`
    pub trace: Option<Trace>,
    /// `MergeSlashes` (default On).
    pub merge_slashes: Option<bool>,
    /// `MergeTrailers` (default Off).
    pub merge_trailers: Option<bool>,
    /// `HttpProtocolOptions`
    pub http_protocol: HttpProtocol,
    /// `Protocols`, lower case, in order (default `http/1.1`).
    pub protocols: Option<Vec<String>>,
    /// `ProtocolsHonorOrder` (default On).
    pub protocols_honor_order: Option<bool>,
    /// `StrictHostCheck` (default Off).
    pub strict_host_check: Option<bool>,
    /// `AllowEncodedSlashes`
    pub encoded_slashes: Option<EncodedSlashes>,
    /// `ServerTokens`
    pub server_tokens: Option<ServerTokens>,
    /// mod_http2's basics.
    pub http2: Http2,
    /// `RegisterHttpMethod`
    pub methods: Vec<String>,
}

impl Server {
    /// Takes away what a virtual host does not inherit from the main server.
    pub(crate) fn disinherit(&mut self, own: &Self) {
        self.server_name.clone_from(&own.server_name);
        self.aliases.clone_from(&own.aliases);
        self.wild_aliases.clone_from(&own.wild_aliases);
        self.server_path.clone_from(&own.server_path);
    }
}

impl Merge for Server {
    fn merge(&self, other: &Self) -> Self {
        Self {
            server_name: other.server_name.clone(),
            aliases: other.aliases.clone(),
            wild_aliases: other.wild_aliases.clone(),
            server_path: other.server_path.clone(),
            admin: over(&self.admin, &other.admin),
            document_root: over(&self.document_root, &other.document_root),
            access_file_names: over(&self.access_file_names, &other.access_file_names),
            assign_user: over(&self.assign_user, &other.assign_user),
            suexec_user: other.suexec_user.clone(),
            site_limits: self.site_limits.merge(other.site_limits),
            no_new_privileges: other.no_new_privileges.or(self.no_new_privileges),
            site_bounds: self.site_bounds.merge(other.site_bounds),
            timeout: other.timeout.or(self.timeout),
            keep_alive: other.keep_alive.or(self.keep_alive),
            keep_alive_timeout: other.keep_alive_timeout.or(self.keep_alive_timeout),
            max_keep_alive_requests: other.max_keep_alive_requests.or(self.max_keep_alive_requests),
            read_timeouts: self.read_timeouts.merge(other.read_timeouts),
            limit_request_line: other.limit_request_line.or(self.limit_request_line),
            limit_request_fields: other.limit_request_fields.or(self.limit_request_fields),
            limit_request_field_size: other.limit_request_field_size.or(self.limit_request_field_size),
            limit_internal_recursion: other.limit_internal_recursion.or(self.limit_internal_recursion),
            request_budget: other.request_budget.or(self.request_budget),
            wait_timeout: other.wait_timeout.or(self.wait_timeout),
            trace: other.trace.or(self.trace),
            merge_slashes: other.merge_slashes.or(self.merge_slashes),
            merge_trailers: other.merge_trailers.or(self.merge_trailers),
            http_protocol: self.http_protocol.merge(other.http_protocol),
            protocols: over(&self.protocols, &other.protocols),
            protocols_honor_order: other.protocols_honor_order.or(self.protocols_honor_order),
            strict_host_check: other.strict_host_check.or(self.strict_host_check),
            encoded_slashes: other.encoded_slashes.or(self.encoded_slashes),
            server_tokens: other.server_tokens.or(self.server_tokens),
            http2: self.http2.merge(other.http2),
            methods: [&self.methods[..], &other.methods[..]].concat(),
        }
    }

    unset_part!(Server);
}
