//! Applications of servlets (`ServletApp`): whether Java and Tomcat are there, and whether those that share a virtual machine
//! agree on which Java. Whether their archives are there nobody asks: they are the tenants', who may bring them later.

use hostler_config::directives::servlet::App;
use hostler_config::{Config, Server};

use super::{Finding, place};
use crate::run;

/// Lists obstacles to the configuration's applications.
pub(crate) fn examine(config: &Config) -> Vec<Finding> {
    let mut apps: Vec<(&Server, &App)> = Vec::new();
    for server in &config.servers {
        // What a virtual host inherits has been seen as the main server's.
        let new = server
            .conf
            .servlet
            .apps
            .iter()
            .filter(|app| apps.iter().all(|(_, known)| known.origin != app.origin));
        let new: Vec<_> = new.map(|app| (&**server, app)).collect();
        apps.extend(new);
    }
    let Some((_, first)) = apps.first() else { return Vec::new() };
    if let Some(why) = run::lacks_servlets() {
        return vec![
            Finding::Error(why).prefixed(&format!("{}: ServletApp", place::of(config, first.origin))),
        ];
    }
    disagreements(config, &apps)
}

/// Applications of one user that name different Javas.
fn disagreements(config: &Config, apps: &[(&Server, &App)]) -> Vec<Finding> {
    let user = |server: &Server| server.conf.core.assign_user.clone();
    let named =
        || apps.iter().filter_map(|(server, app)| Some((user(server), *app, app.java_home.as_deref()?)));
    let mut found = Vec::new();
    for (at, (owner, app, home)) in named().enumerate() {
        let other = named().take(at).find(|(other, _, known)| *other == owner && *known != home);
        if let Some((_, _, known)) = other {
            let why = format!(
                "ServletApp: java-home={home}, and java-home={known} further up: all applications of a user run in one Java \
                 virtual machine. Name the same, or give one of them a user of its own (AssignUserID)"
            );
            found.push(Finding::Error(why).prefixed(&place::of(config, app.origin)));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use hostler_config::read_text;

    #[test]
    fn one_virtual_machine_has_one_java() {
        let found = |homes: [&str; 2]| {
            let [one, other] = homes;
            let text = format!("ServletApp /a a.war {one}\nServletApp /b b.war {other}");
            let config = Config::build(&read_text(&text, "/srv").unwrap()).unwrap();
            let apps: Vec<_> =
                config.main().conf.servlet.apps.iter().map(|app| (config.main(), app)).collect();
            disagreements(&config, &apps).into_iter().map(Finding::why).collect::<Vec<_>>()
        };
        assert_eq!(found(["java-home=/opt/a", "java-home=/opt/a"]), [""; 0]);
        assert_eq!(found(["java-home=/opt/a", ""]), [""; 0]);
        let why = found(["java-home=/opt/a", "java-home=/opt/b"]);
        assert!(why.len() == 1 && why[0].starts_with("configuration:2: ServletApp"), "{why:?}");
    }
}
