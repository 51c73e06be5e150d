//! mod_suexec's one directive, which names the user of a virtual host's CGI programs. All programs of a site run as its
//! user, so it names the user of the virtual host, as `AssignUserID` does. Not here: the checks that suexec makes of a
//! program, which are the site's process's (`hostler-site`).

use super::core::not_root;
use crate::command::Context;
use crate::directives::core::AssignUser;
use crate::{Args, Arity, Command, Directive, Effect, Module};

/// The module.
pub static MODULE: Module =
    Module { name: "suexec_module", file: "mod_suexec.c", directives: DIRECTIVES, effect: Effect::Guards };

static DIRECTIVES: &[Directive] = &[Directive::new(
    "SuexecUserGroup",
    Arity::Take2,
    "user|#uid group|#gid",
    "Set the user and group of a virtual host, as AssignUserID does: all programs of a site run as its user",
    user_and_group,
)];

fn user_and_group(command: &mut Command<'_>, args: &Args) -> Result<(), String> {
    let (user, group) = (not_root(args.first())?, not_root(args.word(1).unwrap_or_default())?);
    let named = AssignUser { user, group };
    let (user, group) = (&named.user, &named.group);
    if command.context != Context::VirtualHost {
        return Err(format!(
            "is only allowed in <VirtualHost>, because it names the user of the whole virtual host: write User {user} and \
             Group {group} for all of them"
        ));
    }
    let core = &mut command.server.core;
    if let Some(assigned) = core.assign_user.as_ref().filter(|assigned| **assigned != named) {
        return Err(other_user(&named, assigned));
    }
    if core.assign_user.is_none() {
        let message = format!(
            "SuexecUserGroup {user} {group} sets the user of the whole virtual host, as AssignUserID {user} {group} does: \
             all programs of a site run as its user, and its files are opened as that user"
        );
        command.warn_once(&format!("SuexecUserGroup {user} {group}"), message);
    }
    let core = &mut command.server.core;
    core.suexec_user = Some(named.clone());
    core.assign_user = Some(named);
    Ok(())
}

/// The two directives of a virtual host disagree.
pub(super) fn other_user(suexec: &AssignUser, assigned: &AssignUser) -> String {
    format!(
        "SuexecUserGroup {} {} and AssignUserID {} {} name different users, and all programs of a site run as one: \
         remove one of the two",
        suexec.user, suexec.group, assigned.user, assigned.group
    )
}

#[cfg(test)]
mod tests {
    use crate::{Config, ConfigError};

    fn build(text: &str) -> Result<Config, Vec<ConfigError>> {
        Config::build(&crate::read_text(text, "/etc/apache2")?)
    }

    fn host(lines: &str) -> Result<Option<String>, String> {
        let built = build(&format!("User www\nGroup www\n<VirtualHost *:80>\n{lines}\n</VirtualHost>"));
        let user = |config: Config| config.servers[1].conf.core.assign_user.clone().map(|own| own.user);
        built.map(user).map_err(|errors| errors.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn it_names_the_user_of_the_virtual_host() {
        assert_eq!(host("SuexecUserGroup joe users"), Ok(Some("joe".to_owned())));
        assert_eq!(host("AssignUserID joe users\nSuexecUserGroup joe users"), Ok(Some("joe".to_owned())));
        let block = "<IfModule mod_suexec.c>\nSuexecUserGroup joe users\n</IfModule>";
        // As under Apache, the block counts where the module is loaded.
        assert_eq!(host(block), Ok(None));
        let loaded = format!(
            "LoadModule suexec_module modules/mod_suexec.so\n<VirtualHost *:80>\n{block}\n</VirtualHost>"
        );
        let config = build(&loaded).unwrap();
        assert_eq!(config.servers[1].conf.core.assign_user.as_ref().unwrap().user, "joe");
    }

    #[test]
    fn two_users_of_a_virtual_host_are_an_error() {
        for lines in [
            "AssignUserID ann users\nSuexecUserGroup joe users",
            "SuexecUserGroup joe users\nAssignUserID ann users",
            "SuexecUserGroup joe users\nSuexecUserGroup ann users",
        ] {
            assert!(host(lines).unwrap_err().contains("name different users"), "{lines}");
        }
        assert!(host("SuexecUserGroup root root").is_err());
        let main = build("SuexecUserGroup joe users").unwrap_err();
        assert!(main[0].to_string().contains("only allowed in <VirtualHost>"), "{}", main[0]);
    }
}
