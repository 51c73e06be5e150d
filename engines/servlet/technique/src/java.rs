//! Applications of servlets (`ServletApp`): whether Java and Tomcat are there, and whether those that share a virtual machine
//! agree on which Java. Their archives are not looked for: they are the tenants', who may bring them later.

use crate::PROGRAM;
use crate::parts::{App, SERVER};
use hostler_config::technique::{Complaint, WhyNot};
use hostler_config::{Config, Server};

/// The directive.
const DIRECTIVE: &str = "ServletApp";

/// Lists obstacles to the configuration's applications.
pub(crate) fn examine(config: &Config, why_not: WhyNot) -> Vec<Complaint> {
    let mut apps: Vec<(&Server, &App)> = Vec::new();
    for server in &config.servers {
        // What a virtual host inherits has been seen as the main server's.
        let new = server
            .conf
            .part(&SERVER)
            .apps
            .iter()
            .filter(|app| apps.iter().all(|(_, known)| known.origin != app.origin));
        let new: Vec<_> = new.map(|app| (&**server, app)).collect();
        apps.extend(new);
    }
    let Some((_, first)) = apps.first() else { return Vec::new() };
    if let Some(why) = why_not(PROGRAM) {
        return vec![(first.origin, DIRECTIVE, why)];
    }
    disagreements(&apps)
}

/// Applications of one user that name different Javas.
fn disagreements(apps: &[(&Server, &App)]) -> Vec<Complaint> {
    let user = |server: &Server| server.conf.core.assign_user.clone();
    let named =
        || apps.iter().filter_map(|(server, app)| Some((user(server), *app, app.java_home.as_deref()?)));
    let mut found = Vec::new();
    for (at, (owner, app, home)) in named().enumerate() {
        let other = named().take(at).find(|(other, _, known)| *other == owner && *known != home);
        if let Some((_, _, known)) = other {
            let why = format!(
                "java-home={home}, and java-home={known} further up: all applications of a user run in one Java \
                 virtual machine. Name the same, or give one of them a user of its own (AssignUserID)"
            );
            found.push((app.origin, DIRECTIVE, why));
        }
    }
    found
}
