//! The phases of a request, in Apache's order.

/// A phase before the handler. In brackets: Apache's hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Phase {
    /// Of the URL nothing is known but its text (`post_read_request`).
    PostRead,
    /// The URL's path still has its escapes (`pre_translate_name`). Asked only where a hook here has something to say.
    PreTranslate,
    /// From the URL to a file name (`translate_name`).
    Translate,
    /// From the file name to what stands there, and its configuration (`map_to_storage`).
    MapToStorage,
    /// All that applies to the request is known (`post_perdir_config`).
    PostPerDirConfig,
    /// Of requests that are no part of another one (`header_parser`).
    HeaderParser,
    /// Access rules that do not depend on the user (`access_checker`).
    Access,
    /// Admission without a login (`access_checker_ex`).
    AccessEx,
    /// Identification of the user (`check_user_id`).
    Authn,
    /// Authorization of the user (`auth_checker`).
    Authz,
    /// The type of the file (`type_checker`).
    Type,
    /// Last things (`fixups`).
    Fixup,
    /// Hooks that answer instead of the handler (`handler`).
    Handler,
}

impl Phase {
    pub(crate) const ALL: [Self; 13] = [
        Self::PostRead,
        Self::PreTranslate,
        Self::Translate,
        Self::MapToStorage,
        Self::PostPerDirConfig,
        Self::HeaderParser,
        Self::Access,
        Self::AccessEx,
        Self::Authn,
        Self::Authz,
        Self::Type,
        Self::Fixup,
        Self::Handler,
    ];

    /// Apache's name of the hook.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::PostRead => "post_read_request",
            Self::PreTranslate => "pre_translate_name",
            Self::Translate => "translate_name",
            Self::MapToStorage => "map_to_storage",
            Self::PostPerDirConfig => "post_perdir_config",
            Self::HeaderParser => "header_parser",
            Self::Access => "access_checker",
            Self::AccessEx => "access_checker_ex",
            Self::Authn => "check_user_id",
            Self::Authz => "auth_checker",
            Self::Type => "type_checker",
            Self::Fixup => "fixups",
            Self::Handler => "handler",
        }
    }

    /// Returns whether the first hook that says OK ends the phase (`RUN_FIRST`); in the others all are run (`RUN_ALL`).
    pub(crate) const fn ends_with_ok(self) -> bool {
        matches!(
            self,
            Self::PreTranslate
                | Self::Translate
                | Self::MapToStorage
                | Self::AccessEx
                | Self::Authn
                | Self::Authz
        )
    }
}
