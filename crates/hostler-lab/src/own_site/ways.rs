//! The ways to serve a page: a server, a technique, an isolation, and the lines that make it so.

use super::nginx_includes;
use super::page::{Page, Url};
use crate::method::Workers;
use std::path::Path;

/// A way.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Way {
    /// `hostler-fork`.
    pub(super) name: String,
    /// `Hostler, CGI, Isolation fork`.
    pub(super) title: String,
    /// The contestant.
    pub(super) server: &'static str,
    /// Put after all else, in a `<Location>` or, since programs can ask in which they are, outside of all sections.
    pub(super) lines: String,
    /// The path of that `<Location>`.
    pub(super) location: Option<String>,
    /// Configuration in the server's own language.
    pub(super) own: Option<String>,
    /// The application that Starman runs.
    pub(super) application: Option<String>,
    /// Why this way is not to be had.
    pub(super) unavailable: Option<String>,
}

impl Way {
    /// For a page that is asked through TLS, which only those have that read the configuration.
    pub(super) fn over_tls(&mut self) {
        if self.unavailable.is_none() && matches!(self.server, "nginx" | "nginx-fpm" | "starman") {
            self.unavailable =
                Some("the page is served through TLS, which the lab does not set up for it".to_owned());
        }
    }

    /// Returns the workers behind the page. At Hostler the way's isolation determines them.
    pub(super) fn workers(&self) -> Workers {
        match self.server {
            "apache-prefork" | "apache-itk" | "starman" => Workers::Pool,
            "hostler" if self.lines.contains("Isolation exec") => Workers::OneEach,
            "hostler" if self.lines.contains("Isolation ") => Workers::Pool,
            "nginx-fpm" => Workers::Pool,
            "apache-event" if self.lines.contains(CGI) => Workers::OneEach,
            _ => Workers::None,
        }
    }
}

const CGI: &str = "SetHandler cgi-script\nOptions +ExecCGI\n";
const REGISTRY: &str = "SetHandler perl-script\nPerlResponseHandler ModPerl::Registry\nPerlOptions +ParseHeaders\n\
                        Options +ExecCGI\n";

/// All ways for a page; the first one is what others are compared with. Those that cannot be are there with the reason.
pub(super) fn ways(page: &Page, url: &Url) -> Vec<Way> {
    match page {
        Page::PerlScript => at(url.path_only(), perl_script()),
        Page::Program => at(url.path_only(), program()),
        Page::Handler => handler(),
        Page::Psgi { application, mount } => psgi(application, mount),
        Page::Php(file) => php(file, url),
        Page::Wsgi => wsgi(),
        Page::FastCgi => fastcgi(),
        Page::Application => application(),
        Page::Parsed(file) => parsed(file, url),
        Page::Static(file) => as_it_is(Some((file, url))),
        Page::Other(_) => as_it_is(None),
    }
}

fn way(name: &str, title: &str, server: &'static str, lines: &[&str]) -> Way {
    Way { name: name.to_owned(), title: title.to_owned(), server, lines: lines.concat(), ..Way::default() }
}

fn without(name: &str, title: &str, server: &'static str, why: &str) -> Way {
    Way { unavailable: Some(why.to_owned()), ..way(name, title, server, &[]) }
}

fn at(path: &str, ways: Vec<Way>) -> Vec<Way> {
    ways.into_iter().map(|way| Way { location: Some(path.to_owned()), ..way }).collect()
}

fn perl_script() -> Vec<Way> {
    vec![
        way("hostler-registry", "Hostler, Registry", "hostler", &[REGISTRY, "Isolation persistent\n"]),
        way("hostler-registry-fork", "Hostler, Registry, fork", "hostler", &[REGISTRY, "Isolation fork\n"]),
        way("hostler-cgi-fork", "Hostler, CGI, fork", "hostler", &[CGI, "Isolation fork\n"]),
        way("hostler-cgi-exec", "Hostler, CGI, exec", "hostler", &[CGI, "Isolation exec\n"]),
        way("apache-registry", "Apache prefork, Registry", "apache-prefork", &[REGISTRY]),
        way("apache-cgi", "Apache prefork, mod_cgi", "apache-prefork", &[CGI]),
        way("apache-itk-registry", "Apache itk, Registry", "apache-itk", &[REGISTRY]),
        way("apache-itk-cgi", "Apache itk, mod_cgi", "apache-itk", &[CGI]),
        way("apache-event-cgi", "Apache event, mod_cgid", "apache-event", &[CGI]),
    ]
}

fn program() -> Vec<Way> {
    let no_perl = "is for scripts in Perl: the first line of this one names no perl";
    vec![
        way("hostler-cgi-exec", "Hostler, CGI, exec", "hostler", &[CGI, "Isolation exec\n"]),
        way("apache-cgi", "Apache prefork, mod_cgi", "apache-prefork", &[CGI]),
        way("apache-itk-cgi", "Apache itk, mod_cgi", "apache-itk", &[CGI]),
        way("apache-event-cgi", "Apache event, mod_cgid", "apache-event", &[CGI]),
        without("hostler-cgi-fork", "Hostler, CGI, fork", "hostler", no_perl),
        without("hostler-registry", "Hostler, Registry", "hostler", no_perl),
    ]
}

fn handler() -> Vec<Way> {
    vec![
        way("hostler-persistent", "Hostler, persistent", "hostler", &["Isolation persistent\n"]),
        way("hostler-fork", "Hostler, fork", "hostler", &["Isolation fork\n"]),
        way("apache-mod-perl", "Apache prefork, mod_perl", "apache-prefork", &[]),
        way("apache-itk-mod-perl", "Apache itk, mod_perl", "apache-itk", &[]),
        without("hostler-exec", "Hostler, exec", "hostler", "a Perl handler cannot be a program of its own"),
    ]
}

fn psgi(application: &Path, mount: &str) -> Vec<Way> {
    let application = application.display();
    let apache = format!(
        "SetHandler perl-script\nPerlResponseHandler Plack::Handler::Apache2\nPerlSetVar psgi_app \"{application}\"\n"
    );
    let mounted = if mount.is_empty() { "/" } else { mount };
    let starman = format!(
        "use Plack::Util;\nuse Plack::App::URLMap;\nmy $urls = Plack::App::URLMap->new;\n\
         $urls->map({} => Plack::Util::load_psgi({}));\n$urls->to_app;\n",
        perl_string(mounted),
        perl_string(&application.to_string())
    );
    let title = "Apache prefork, Plack::Handler::Apache2";
    let apache = way("apache-psgi", title, "apache-prefork", &[&apache]);
    vec![
        way("hostler-persistent", "Hostler, persistent", "hostler", &["Isolation persistent\n"]),
        way("hostler-fork", "Hostler, fork", "hostler", &["Isolation fork\n"]),
        Way { application: Some(starman), ..way("starman", "Starman", "starman", &[]) },
        Way { location: Some(mounted.to_owned()), ..apache },
    ]
}

fn php(file: &Path, url: &Url) -> Vec<Way> {
    let fpm = FPM.replace("@URL@", url.path_only()).replace("@FILE@", &file.to_string_lossy());
    vec![
        way("hostler-php", "Hostler, PHP", "hostler", &["Isolation persistent\n"]),
        way("hostler-php-fork", "Hostler, PHP, fork", "hostler", &["Isolation fork\n"]),
        way("apache-php", "Apache prefork, mod_php", "apache-prefork", &[]),
        way("apache-itk-php", "Apache itk, mod_php", "apache-itk", &[]),
        Way { own: Some(fpm), ..way("nginx-fpm", "nginx and php-fpm", "nginx-fpm", &[]) },
    ]
}

/// nginx's configuration of php-fpm for one page.
const FPM: &str = r#"        location = "@URL@" {
            fastcgi_pass unix:@RUN@/fpm.sock;
            fastcgi_param SCRIPT_FILENAME "@FILE@";
            fastcgi_param SCRIPT_NAME "@URL@";
            fastcgi_param QUERY_STRING $query_string;
            fastcgi_param REQUEST_METHOD $request_method;
            fastcgi_param CONTENT_TYPE $content_type;
            fastcgi_param CONTENT_LENGTH $content_length;
            fastcgi_param REQUEST_URI $request_uri;
            fastcgi_param SERVER_PROTOCOL $server_protocol;
            fastcgi_param REQUEST_SCHEME $scheme;
            fastcgi_param GATEWAY_INTERFACE CGI/1.1;
            fastcgi_param REMOTE_ADDR $remote_addr;
            fastcgi_param REMOTE_PORT $remote_port;
            fastcgi_param SERVER_ADDR $server_addr;
            fastcgi_param SERVER_PORT $server_port;
            fastcgi_param SERVER_NAME $host;
            fastcgi_param REDIRECT_STATUS 200;
        }"#;

/// `mod_wsgi` itself is what other servers have of its configuration; Apache event has threads for it.
fn wsgi() -> Vec<Way> {
    vec![
        way("hostler-wsgi", "Hostler, WSGI", "hostler", &["Isolation persistent\n"]),
        way("hostler-wsgi-fork", "Hostler, WSGI, fork", "hostler", &["Isolation fork\n"]),
        way("apache-wsgi", "Apache prefork, mod_wsgi", "apache-prefork", &[]),
        way("apache-event-wsgi", "Apache event, mod_wsgi", "apache-event", &[]),
        way("apache-itk-wsgi", "Apache itk, mod_wsgi", "apache-itk", &[]),
    ]
}

fn fastcgi() -> Vec<Way> {
    let process = "a FastCGI program serves many requests in one process; as CGI it is another program";
    vec![
        way("hostler-fastcgi", "Hostler, FastCGI", "hostler", &[]),
        way("apache-fcgid", "Apache prefork, mod_fcgid", "apache-prefork", &[]),
        way("apache-event-fcgid", "Apache event, mod_fcgid", "apache-event", &[]),
        way("apache-itk-fcgid", "Apache itk, mod_fcgid", "apache-itk", &[]),
        without("hostler-fork", "Hostler, fork", "hostler", process),
    ]
}

/// Returns the ways that only Hostler's directives configure.
fn application() -> Vec<Way> {
    let why = "has no such directive: what serves these applications elsewhere is set up in other words; the scenarios \
               bench1 to bench4 compare them";
    vec![
        way("hostler", "Hostler", "hostler", &[]),
        without("apache-event", "Apache event", "apache-event", why),
    ]
}

fn perl_string(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))
}

/// A page with server-side includes: by nginx too, if its own module knows what is in it.
fn parsed(file: &Path, url: &Url) -> Vec<Way> {
    let mut ways = servers();
    ways.push(match nginx_includes::configuration(file, url.path_only()) {
        Ok(text) => Way { own: Some(text), ..way("nginx", "nginx, ssi", "nginx", &[]) },
        Err(why) => without("nginx", "nginx, ssi", "nginx", &why),
    });
    ways
}

/// Returns the ways that need no technique: the servers that read the configuration, and for a file nginx too.
fn as_it_is(file: Option<(&std::path::PathBuf, &Url)>) -> Vec<Way> {
    let mut ways = servers();
    ways.push(match file {
        Some((file, url)) => {
            let text =
                format!("        location = \"{}\" {{ alias \"{}\"; }}", url.path_only(), file.display());
            Way { own: Some(text), ..way("nginx", "nginx", "nginx", &[]) }
        }
        None => without("nginx", "nginx", "nginx", "serves files as they are, and this page is none"),
    });
    ways
}

fn servers() -> Vec<Way> {
    vec![
        way("hostler", "Hostler", "hostler", &[]),
        way("apache-prefork", "Apache prefork", "apache-prefork", &[]),
        way("apache-event", "Apache event", "apache-event", &[]),
        way("apache-itk", "Apache itk", "apache-itk", &[]),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_page_has_ways_of_different_names() {
        let url = Url::parse("/p?q").unwrap();
        let psgi = Page::Psgi { application: "/srv/it's.psgi".into(), mount: "/p".to_owned() };
        let file = Page::Static("/srv/p".into());
        for page in [
            Page::PerlScript,
            Page::Program,
            Page::Handler,
            Page::Parsed("/srv/p".into()),
            Page::Php("/srv/p".into()),
            Page::Wsgi,
            Page::FastCgi,
            Page::Application,
            psgi,
            file,
            Page::Other(String::new()),
        ] {
            let ways = ways(&page, &url);
            let names: BTreeSet<&str> = ways.iter().map(|way| way.name.as_str()).collect();
            assert_eq!(names.len(), ways.len(), "{page:?}");
            assert!(ways.iter().any(|way| way.unavailable.is_none() && way.server == "hostler"), "{page:?}");
            assert!(ways.iter().any(|way| way.server.starts_with("apache")), "{page:?}");
        }
    }

    #[test]
    fn a_name_is_quoted_for_perl() {
        assert_eq!(perl_string(r"/a'b\c"), r"'/a\'b\\c'");
    }
}
