//! mod_perl's configuration: what is printed in books and handbooks reads as printed, and merges as in mod_perl
//! 2.0.12 (each expectation was seen there).

#![allow(clippy::unwrap_used, reason = "a test may fail")]

use hostler_config::directives::perl::generation;
use hostler_config::directives::pool::Isolation;
use hostler_config::technique;
use hostler_config::{Config, DirConfig, HtaccessScope, Server, lookup, parse_htaccess, read_text};
use hostler_perl_frames::{Phase, PreloadKind, directory_flag};
use hostler_perl_technique::psgi;
use std::sync::Arc;

fn errors(text: &str) -> Vec<String> {
    assert_eq!(hostler_techniques::install(), Ok(()));
    let built = read_text(text, "/etc/apache2").and_then(|tree| Config::build(&tree));
    built.err().unwrap_or_default().iter().map(ToString::to_string).collect()
}

fn config(text: &str) -> Config {
    assert_eq!(hostler_techniques::install(), Ok(()));
    let built = read_text(text, "/etc/apache2").and_then(|tree| Config::build(&tree));
    built.unwrap_or_else(|_| panic!("{text}: {:?}", errors(text)))
}

/// Returns the settings of a URL, Location sections only.
fn at(server: &Server, url: &str) -> DirConfig {
    let sections = lookup::locations(server, url.as_bytes()).unwrap();
    sections.into_iter().fold((*server.defaults).clone(), |dir, section| dir.merge(&section.conf))
}

fn named(conf: &DirConfig, phase: Phase) -> Vec<&str> {
    conf.perl.handlers.of(phase).iter().map(|name| &**name).collect()
}

fn vars<'a>(all: impl Iterator<Item = (&'a str, &'a str)>, name: &str) -> Vec<&'a str> {
    all.filter(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value).collect()
}

const FIRST_HANDLER: &str = "PerlModule Benchmark::Handler
<Location /benchmark_handler>
  SetHandler perl-script
  PerlHandler Benchmark::Handler
</Location>";

const FIRST_REGISTRY: &str = "Alias /perl /home/httpd/perl
<Location /perl>
  SetHandler perl-script
  PerlHandler +Apache::Registry
  Options ExecCGI
  PerlSendHeader On
</Location>";

const SECOND_HANDLER: &str = "PerlModule Benchmark::Handler
<Location /benchmark_handler>
  SetHandler modperl
  PerlResponseHandler Benchmark::Handler
</Location>";

const SECOND_REGISTRY: &str = "Alias /perl/ /home/httpd/perl/
PerlModule ModPerl::Registry
<Location /perl/>
  SetHandler perl-script
  PerlResponseHandler ModPerl::Registry
  PerlOptions +ParseHeaders
  Options +ExecCGI
  Order allow,deny
  Allow from all
</Location>";

const DISPATCH: &str = "PerlModule Apache::Dispatch
<Location /Foo>
  SetHandler perl-script
  PerlHandler Apache::Dispatch
  PerlSetVar DispatchPrefix Bar
  PerlSetVar DispatchExtras Error
</Location>";

#[test]
fn published_configurations_read_as_printed() {
    for (text, api, class) in [
        (FIRST_HANDLER, 1, "Benchmark::Handler"),
        (FIRST_REGISTRY, 1, "Apache::Registry"),
        (SECOND_HANDLER, 2, "Benchmark::Handler"),
        (SECOND_REGISTRY, 2, "ModPerl::Registry"),
        (DISPATCH, 1, "Apache::Dispatch"),
    ] {
        let config = config(text);
        assert!(config.warnings.is_empty(), "{:?}", config.warnings);
        assert_eq!(generation(config.main()), api, "{text}");
        assert_eq!(config.main().conf.perl.preload[0].text.as_ref(), class);
        let section = &config.main().locations[0].conf;
        assert_eq!(named(section, Phase::Response), [class]);
    }
    let both = config(&format!("PerlRequire /etc/apache2/startup.pl\n{FIRST_REGISTRY}\n{FIRST_HANDLER}"));
    let perl = &both.main().conf.perl;
    let kinds: Vec<_> = perl.preload.iter().map(|preload| preload.kind).collect();
    assert_eq!(kinds, [PreloadKind::File, PreloadKind::Module, PreloadKind::Module]);
    let flags = at(both.main(), "/perl/x").perl.options.flags();
    assert_eq!(flags, directory_flag::PARSE_HEADERS);
}

#[test]
fn modules_of_both_generations_tell_nothing() {
    let mason = "PerlModule HTML::Mason::ApacheHandler\n<Location /m>\nSetHandler perl-script\n\
                 PerlHandler HTML::Mason::ApacheHandler\nPerlSetVar MasonCompRoot /srv/mason\n</Location>";
    assert_eq!(generation(config(mason).main()), 2);
    assert_eq!(generation(config(&format!("PerlApiVersion 1\n{mason}")).main()), 1);
    assert_eq!(generation(config("PerlModule Apache::DBI").main()), 2);
    assert_eq!(generation(config("PerlModule Apache::DBI\nPerlModule Apache::PerlRun").main()), 1);
    assert_eq!(generation(config("PerlModule Apache::PerlRun\nPerlModule Apache2::Reload").main()), 2);
    let two =
        format!("<VirtualHost *:80>\n{FIRST_REGISTRY}\n</VirtualHost>\n<VirtualHost *:81>\n</VirtualHost>");
    let two = config(&two);
    assert_eq!(two.servers.iter().map(|server| generation(server)).collect::<Vec<_>>(), [2, 1, 2]);
}

const MERGING: &str = "PerlSetVar One main
PerlAddVar One main2
PerlAddVar Two m
PerlSetEnv E1 m
PerlSetEnv E2 m
PerlPostReadRequestHandler F::prr
PerlFixupHandler F::a
<Location /l1>
PerlSetVar One l1
PerlAddVar Two l1 l1b
PerlFixupHandler F::b
PerlSetEnv E2 l1
</Location>
<Location /l1/l2>
PerlAddVar One l2
PerlSetVar one l2lower
PerlAddVar ONE l2upper
PerlFixupHandler F::c
PerlOptions +MergeHandlers +SetupEnv
</Location>
<Location /l3>
PerlFixupHandler F::b
PerlFixupHandler F::c
</Location>
<Location /l4>
Require all granted
</Location>
<VirtualHost *:80>
ServerName v1
PerlSetVar Two v1
PerlAddVar One v1
PerlSetEnv E3 v1
PerlInitHandler F::prr2
PerlFixupHandler F::b
</VirtualHost>
<VirtualHost *:80>
ServerName v2
PerlOptions +MergeHandlers
PerlPostReadRequestHandler F::prr2
PerlFixupHandler F::b
<Location /l1>
PerlFixupHandler F::c
</Location>
</VirtualHost>
<VirtualHost *:80>
PerlOptions -Enable -Fixup
</VirtualHost>";

#[test]
fn words_of_apache_dispatch_are_variables() {
    let config = config("<Location /Foo>\nDispatchPrefix Bar\nDispatchExtras Pre Error\n</Location>");
    let all: Vec<_> = config.main().locations[0].conf.perl.vars.iter().collect();
    assert_eq!(all, [("DispatchPrefix", "Bar"), ("DispatchExtras", "Pre Error")]);
}

#[test]
fn handlers_replace_unless_they_are_to_be_merged() {
    let config = config(MERGING);
    let [_, v1, v2, v3] = &config.servers[..] else { panic!() };
    assert_eq!(named(&at(v1, "/l0"), Phase::Fixup), ["F::b"]);
    assert_eq!(named(&at(v1, "/l1/x"), Phase::Fixup), ["F::b"]);
    assert_eq!(named(&at(v1, "/l1/l2/x"), Phase::Fixup), ["F::b", "F::c"]);
    assert_eq!(named(&at(v1, "/l3"), Phase::Fixup), ["F::b", "F::c"]);
    assert_eq!(named(&at(v2, "/l0"), Phase::Fixup), ["F::b"]);
    assert_eq!(named(&at(v2, "/l1/a"), Phase::Fixup), ["F::c"]);
    let server = |server: &Server| server.conf.perl.handlers.of(Phase::PostReadRequest).join(" ");
    assert_eq!([server(v1), server(v2), server(v3)], ["F::prr2", "F::prr F::prr2", "F::prr"]);
    assert!(v3.conf.perl.options.disabled() && !v1.conf.perl.options.disabled());
    assert_eq!(named(&at(v3, "/"), Phase::Fixup), ["F::a"]);
}

#[test]
fn variables_are_set_anew_or_added_to() {
    let config = config(MERGING);
    let v1 = &config.servers[1];
    for (url, one, two) in [
        ("/l0", &["main", "main2", "v1"][..], &["v1"][..]),
        ("/l1/x", &["l1"], &["v1", "l1", "l1b"]),
        ("/l1/l2/x", &["l2lower", "l2upper"], &["v1", "l1", "l1b"]),
        ("/l4", &["main", "main2", "v1"], &["v1"]),
    ] {
        let conf = at(v1, url);
        assert_eq!(vars(conf.perl.vars.iter(), "One"), one, "{url}");
        assert_eq!(vars(conf.perl.vars.iter(), "Two"), two, "{url}");
    }
    let own = &v1.conf.perl.vars;
    assert_eq!((vars(own.iter(), "One"), vars(own.iter(), "Two")), (vec!["main", "main2", "v1"], vec!["v1"]));
    let env: Vec<_> = at(v1, "/l1").perl.env.iter().map(|(name, value)| format!("{name}={value}")).collect();
    assert_eq!(env, ["E1=m", "E2=l1", "E3=v1"]);
}

#[test]
fn the_location_is_that_of_the_innermost_section_with_a_word_of_perls() {
    let text = "<Directory /srv/www>\nPerlFixupHandler F\n<Files *.txt>\nPerlFixupHandler G\n</Files>\n</Directory>\n\
                <If \"true\">\nPerlFixupHandler H\n</If>";
    let config = [config(MERGING), config(text)];
    let location = |conf: &DirConfig| conf.perl.location.as_deref().map(str::to_owned);
    let v1 = &config[0].servers[1];
    assert_eq!([location(&at(v1, "/")), location(&at(v1, "/l4"))], [None, None]);
    assert_eq!(location(&at(v1, "/l1/l2/x")).as_deref(), Some("/l1/l2"));
    let main = config[1].main();
    let directory = &main.directories[0].conf;
    assert_eq!(location(directory).as_deref(), Some("/srv/www/"));
    assert_eq!(location(&directory.core.files[0].conf).as_deref(), Some("*.txt"));
    assert_eq!(location(&main.defaults.core.ifs[0].conf).as_deref(), Some("*If"));
}

#[test]
fn mistakes_are_told() {
    for (text, says) in [
        (
            "<Location />\nPerlOptions +Enable\n</Location>",
            "unknown option \"+Enable\" (expected ParseHeaders, SetupEnv, GlobalRequest, MergeHandlers, None)",
        ),
        ("PerlOptions +AutoLoad", "unknown option \"+AutoLoad\" (expected ParseHeaders"),
        ("PerlOptions parseheaders", "unknown option \"parseheaders\" (expected ParseHeaders"),
        ("<Location />\nPerlModule X\n</Location>", "is not allowed inside a section"),
        ("<Location />\nPerlRequire /x\n</Location>", "is not allowed inside a section"),
        ("<Location />\nPerlTransHandler X\n</Location>", "is not allowed inside a section"),
        ("<Location />\n<Perl>\n1;\n</Perl>\n</Location>", "is not allowed inside a section"),
        ("<Perl handler=Foo>\n1;\n</Perl>", "takes no arguments here"),
        ("<Perl>\n1;\n$Location{'/x'} = {};\n</Perl>", "in line 3 ($Location)"),
        ("Perl push @PerlModule, 'X';", "in line 2 (@PerlModule)"),
        ("<Location />\nPerlHandler\n</Location>", "takes at least one argument"),
        ("PerlHandler +", "needs the name"),
        ("PerlSetVar a b c", "takes two arguments, not 3"),
        ("PerlAddVar a", "takes at least two arguments, not 1"),
        ("PerlPassEnv A B", "takes one argument, not 2"),
        ("PerlApiVersion 3", "is not a number from 1 to 2"),
        ("PerlPreConnectionHandler X", "connections are handled by the front"),
        ("PSGIApp", "takes one argument"),
        ("Isolation thread", "unknown value \"thread\" (expected persistent, fork or exec)"),
        ("HostlerMemory much", "is not a number of bytes"),
        ("<VirtualHost *>\nHostlerMemory 1G\n</VirtualHost>", "is not allowed in <VirtualHost>"),
    ] {
        let errors = errors(text);
        assert!(errors.len() == 1 && errors[0].contains(says), "{text}: {errors:?}");
    }
}

#[test]
fn mod_perl_is_there() {
    let text = "LoadModule perl_module modules/mod_perl.so\n<IfDefine MODPERL2>\n<IfModule mod_perl.c>\n\
                <IfModule perl_module>\nPSGIApp app.psgi\n</IfModule>\n</IfModule>\n</IfDefine>\n=pod\n\nWords\n\n=cut\n\
                <IfModule apreq_module>\nIsolation fork\n</IfModule>\n__END__\nNothing";
    let config = config(text);
    assert!(config.warnings.is_empty(), "{:?}", config.warnings);
    assert_eq!(config.main().defaults.part(&psgi::DIR).app.as_deref(), Some("/etc/apache2/app.psgi"));
    assert_eq!(technique::of_handler(b"psgi").unwrap().isolation(&config.main().defaults), Isolation::Fork);
}

#[test]
fn what_mod_perl_defines_is_defined_where_something_asks_for_it() {
    let app = |before: &str, after: &str| {
        let config =
            config(&format!("{before}\n<IfDefine MODPERL2>\nPSGIApp app.psgi\n</IfDefine>\n{after}"));
        let counts = config.main().defaults.part(&psgi::DIR).app.is_some();
        let told = config.warnings.iter().filter(|warning| warning.message.contains("asks for Perl")).count();
        assert_eq!(told, usize::from(!counts), "{:?}", config.warnings);
        counts
    };
    assert!(app("LoadModule perl_module modules/mod_perl.so", ""));
    assert!(app("PerlModule Apache2::Reload", ""));
    assert!(!app("", ""));
    assert!(!app("", "LoadModule perl_module modules/mod_perl.so"));
    assert!(!app("LoadModule cgi_module modules/mod_cgi.so", ""));
}

#[test]
fn directives_of_the_second_generation_tell_more_than_names() {
    let soap = "<Location /soap>\nSetHandler perl-script\nPerlResponseHandler Apache::SOAP\n</Location>";
    assert_eq!(generation(config(soap).main()), 2);
    assert_eq!(generation(config(&soap.replace("PerlResponseHandler", "PerlHandler")).main()), 1);
    assert_eq!(generation(config(&format!("PerlApiVersion 1\n{soap}")).main()), 1);
}

#[test]
fn providers_are_known_by_name() {
    let text = "PerlAddAuthzProvider team My::Authz\nPerlAddAuthnProvider book My::Authn\n<Location /x>\n\
                AuthType Basic\nAuthName x\nAuthBasicProvider file book\nRequire team red blue\n</Location>";
    assert!(config(text).warnings.is_empty());
    for (line, says) in [
        ("Require nobody x", "unknown condition \"nobody\""),
        ("Require book x", "unknown condition \"book\""),
        ("AuthBasicProvider team", "unknown authentication provider \"team\""),
    ] {
        let errors = errors(&text.replace("AuthName x", &format!("AuthName x\n{line}")));
        assert!(errors.len() == 1 && errors[0].contains(says), "{line}: {errors:?}");
    }
    let elsewhere = "<VirtualHost *:80>\nPerlAddAuthzProvider team My::Authz\n</VirtualHost>\n<VirtualHost *:81>\n\
                     <Location /x>\nRequire team red\n</Location>\n</VirtualHost>";
    assert_eq!(errors(elsewhere).len(), 1, "a virtual host's provider is its own");
}

#[test]
fn requirements_of_mod_perl_1_s_programs_are_theirs() {
    let section = "<Location /x>\nAuthType Basic\nAuthName x\nRequire dwarf grumpy\n</Location>";
    let says = |text: &str| errors(text).concat();
    assert!(says(section).contains("unknown condition \"dwarf\""));
    assert!(says(&format!("PerlHandler Apache::Registry\n{section}")).contains("PerlApiVersion 1"), "a hint");
    assert_eq!(says(&format!("{section}\nPerlApiVersion 1")), "", "wherever that stands");
    let two = format!(
        "<VirtualHost *:80>\nPerlApiVersion 1\n{section}\n</VirtualHost>\n<VirtualHost *:81>\n{section}\n</VirtualHost>"
    );
    assert_eq!(errors(&two).len(), 1, "a virtual host's generation is its own");
    let ldap = section.replace("dwarf", "ldap-user");
    assert_eq!(errors(&format!("PerlApiVersion 1\n{ldap}")).len(), 1, "what others know is nobody else's");
    for lines in ["Require not dwarf doc", "<RequireNone>\nRequire dwarf doc\n</RequireNone>"] {
        let text =
            format!("<Location /x>\n<RequireAll>\nRequire valid-user\n{lines}\n</RequireAll>\n</Location>");
        let said = says(&format!("PerlApiVersion 1\n{text}"));
        assert!(
            said.contains("cannot be negated"),
            "negating an undecided condition would grant access: {said}"
        );
    }
    let alias = "<AuthzProviderAlias ip office 10.0.0.0/8>\n</AuthzProviderAlias>\n";
    let named = section.replace("dwarf grumpy", "office");
    assert_eq!(says(&format!("PerlApiVersion 1\n{alias}{named}")), "", "a name that is free can be given");
    let of_nobody = alias.replace("ip office", "dwarf office");
    assert!(says(&format!("PerlApiVersion 1\n{of_nobody}")).contains("unknown condition \"dwarf\""));
}

#[test]
fn filters_that_are_not_there_stop_the_start() {
    for line in ["PerlSetInputFilter SUBSTITUTE", "PerlSetOutputFilter UNKNOWN"] {
        assert_eq!(errors(&format!("<Location /x>\n{line}\n</Location>")).len(), 1, "{line}");
    }
    for line in ["PerlOutputFilterHandler My", "PerlInputFilterHandler My", "PerlSetInputFilter DEFLATE"] {
        assert_eq!(errors(&format!("<Location /x>\n{line}\n</Location>")).len(), 0, "{line}");
    }
}

#[test]
fn htaccess_files_may_name_handlers() {
    let text = b"PerlSetVar One h\nPerlResponseHandler +X::y\nPerlModule Z\nPerlOptions +SetupEnv";
    let config = config("AccessFileName .htaccess");
    let allow = |text: &str| {
        let config = self::config(&format!("<Directory /srv>\nAllowOverride {text}\n</Directory>"));
        Arc::new(config.main().directories[0].conf.core.allow())
    };
    let scope = |allow| HtaccessScope {
        config: &config,
        host: hostler_config::Origin::default(),
        file: "/srv/.htaccess",
        directory: "/srv",
        allow,
    };
    let parsed = parse_htaccess(text, &scope(allow("Limit"))).unwrap();
    assert_eq!(named(&parsed.conf, Phase::Response), ["X::y"]);
    assert_eq!(parsed.conf.perl.location.as_deref(), Some("/srv/"));
    assert_eq!(parsed.warnings.len(), 1);
    assert!(parse_htaccess(b"<Perl>\n1;\n</Perl>", &scope(allow("All"))).is_err());
    assert!(parse_htaccess(b"PSGIApp x.psgi", &scope(allow("Limit"))).is_err());
}
