//! Perl in its techniques: the same programs for Hostler, Apache with mod_perl and, where it is PSGI, Starman.

use crate::bench::cases::Case;
use crate::bench::contestant::Kind;
use crate::bench::site::Site;
use anyhow::Result;
use std::fs;
use std::os::unix::fs::PermissionsExt;

/// What the published comparison of Registry and handler lets its heavy pair do.
const WORK: &str = "my $x; $x = log(100 ** 100) for 0 .. 10_000;";

const BOTH: &[Kind] = &[Kind::Hostler, Kind::ApachePerl];

/// The cases, in the order of the report.
pub(crate) fn cases(usual: &Case) -> Vec<Case> {
    let case = |name, description, path| Case { name, description, path, contestants: BOTH, ..*usual };
    vec![
        case("handler-15", "light handler (modperl), keep-alive, 15 connections", "/light"),
        Case {
            connections: 64,
            ..case("handler-64", "light handler (modperl), keep-alive, 64 connections", "/light")
        },
        case("registry", "light Registry script, keep-alive, 15 connections", "/perl/light.pl"),
        case("heavy-handler", "heavy handler, keep-alive, 15 connections", "/heavy"),
        case("heavy-registry", "heavy Registry script, keep-alive, 15 connections", "/perl/heavy.pl"),
        Case {
            contestants: &[Kind::Hostler, Kind::Starman],
            ..case("psgi", "PSGI hello, keep-alive, 15 connections", "/psgi")
        },
        Case {
            contestants: &[Kind::Hostler, Kind::ApachePrefork],
            ..case(
                "fork",
                "a CGI script in Perl: Isolation fork against mod_cgi, 15 connections",
                "/cgi-perl/plain.pl",
            )
        },
        Case {
            contestants: &[Kind::Hostler, Kind::ApachePrefork],
            ..case(
                "fork-cgi-pm",
                "the same with CGI.pm: Isolation fork against mod_cgi, 15 connections",
                "/cgi-perl/form.pl",
            )
        },
    ]
}

/// Writes the programs.
pub(crate) fn write(site: &Site) -> Result<()> {
    for folder in ["perl", "perl/lib", "perl/lib/Benchmark", "cgi-perl"] {
        fs::create_dir(site.path(folder))?;
        fs::set_permissions(site.path(folder), fs::Permissions::from_mode(0o755))?;
    }
    for (name, work) in [("Light", ""), ("Heavy", WORK)] {
        let module = format!(
            "package Benchmark::{name};\nuse strict;\nuse Apache2::RequestRec ();\nuse Apache2::RequestIO ();\n\
             use Apache2::Const -compile => 'OK';\nsub handler {{\n    my $r = shift;\n    \
             $r->content_type('text/plain');\n    {work}\n    $r->print('Hello');\n    return \
             Apache2::Const::OK;\n}}\n1;\n"
        );
        fs::write(site.path(&format!("perl/lib/Benchmark/{name}.pm")), module)?;
        let script =
            format!("use strict;\nprint \"Content-type: text/plain\\n\\n\";\n{work}\nprint 'Hello';\n");
        program(site, &format!("perl/{}.pl", name.to_lowercase()), &script)?;
    }
    fs::write(site.path("app.psgi"), "sub { [200, ['Content-Type' => 'text/plain'], ['Hello']] }\n")?;
    program(
        site,
        "cgi-perl/plain.pl",
        "#!/usr/bin/perl\nuse strict;\nprint \"Content-type: text/plain\\n\\nHello\";\n",
    )?;
    program(
        site,
        "cgi-perl/form.pl",
        "#!/usr/bin/perl\nuse strict;\nuse CGI;\nmy $q = CGI->new;\n\
         print $q->header('text/plain'), 'Hello ', $q->param('name') || 'you';\n",
    )
}

fn program(site: &Site, name: &str, text: &str) -> Result<()> {
    fs::write(site.path(name), text)?;
    fs::set_permissions(site.path(name), fs::Permissions::from_mode(0o755))?;
    Ok(())
}

/// For Hostler and Apache alike.
pub(crate) const CONFIGURATION: &str = r#"
PerlSwitches -I@ROOT@/perl/lib
PerlModule Benchmark::Light Benchmark::Heavy ModPerl::Registry
<Location "/light">
    SetHandler modperl
    PerlResponseHandler Benchmark::Light
    Require all granted
</Location>
<Location "/heavy">
    SetHandler modperl
    PerlResponseHandler Benchmark::Heavy
    Require all granted
</Location>
Alias /perl/ "@ROOT@/perl/"
<Directory "@ROOT@/perl">
    SetHandler perl-script
    PerlResponseHandler ModPerl::Registry
    PerlOptions +ParseHeaders
    Options +ExecCGI
    Require all granted
</Directory>
"#;

/// What only Hostler has. CGI.pm is loaded once, by the warm parent.
pub(crate) const OURS: &str = r#"
PerlModule CGI
<Location "/psgi">
    SetHandler psgi
    PSGIApp "@ROOT@/app.psgi"
    Require all granted
</Location>
<Directory "@ROOT@/cgi-perl">
    Isolation fork
</Directory>
"#;

/// Programs as CGI programs.
pub(crate) const CGI: &str = r#"
ScriptAlias /cgi-perl/ "@ROOT@/cgi-perl/"
<Directory "@ROOT@/cgi-perl">
    Require all granted
</Directory>
"#;
