//! mod_python's directives: each is refused, with the lines of WSGI to write instead.

use hostler_config::{Contexts, Directive, Effect, Module, Overrides};

/// The module that is not there.
pub(crate) static MODULE: Module =
    Module { name: "python_module", file: "mod_python.c", directives: DIRECTIVES, effect: Effect::HandsOver };

const DOC: &str = "mod_python's; refused with what to write instead";

const HANDLER: &str = "mod_python's programs are written for an interface of its own, which ended in 2010. Of a WSGI \
    application write: WSGIScriptAlias /path /srv/app.wsgi (a file that defines application(environ, start_response)); \
    of a folder of scripts: AddHandler wsgi-script .wsgi with Options +ExecCGI";
const GUARD: &str = "mod_python's programs are written for an interface of its own, which ended in 2010. Have a script decide \
    that mod_wsgi would ask: WSGIAccessScript, WSGIAuthUserScript with AuthBasicProvider wsgi, WSGIAuthGroupScript with \
    Require wsgi-group; or write Require lines";
const FILTER: &str = "mod_python's filters are not there. Have the WSGI application change its own answers (middleware), or \
    use Substitute";
const PATH: &str = "write: WSGIPythonPath /folder:/another, or python-path= of WSGIDaemonProcess";
const GROUP: &str = "write: WSGIApplicationGroup name (%{GLOBAL}: one for all)";
const OPTION: &str = "write: SetEnv name value; a WSGI application finds it in its environ";
const IMPORT: &str = "write: WSGIImportScript /file process-group=name application-group=name";
const RELOAD: &str = "write: WSGIScriptReloading On|Off";
const DEBUG: &str = "leave it out: what an application raises is in the ErrorLog with its traceback";

const fn refused(name: &'static str, why: &'static str) -> Directive {
    Directive::refused(name, DOC, why).allowed(Contexts::ANYWHERE, Overrides::ALL)
}

static DIRECTIVES: &[Directive] = &[
    refused("PythonHandler", HANDLER),
    refused("PythonInterpreter", GROUP),
    refused("PythonInterpPerDirectory", GROUP),
    refused("PythonInterpPerDirective", GROUP),
    refused("PythonPath", PATH),
    refused("PythonOption", OPTION),
    refused("PythonImport", IMPORT),
    refused("PythonAutoReload", RELOAD),
    refused("PythonDebug", DEBUG),
    refused("PythonEnablePdb", DEBUG),
    refused("PythonOptimize", "write: WSGIPythonOptimize 1"),
    refused("PythonPostReadRequestHandler", GUARD),
    refused("PythonTransHandler", HANDLER),
    refused("PythonHeaderParserHandler", GUARD),
    refused("PythonInitHandler", GUARD),
    refused("PythonAccessHandler", GUARD),
    refused("PythonAuthenHandler", GUARD),
    refused("PythonAuthzHandler", GUARD),
    refused("PythonTypeHandler", HANDLER),
    refused("PythonFixupHandler", GUARD),
    refused("PythonLogHandler", "write: CustomLog \"|/program\" format"),
    refused("PythonCleanupHandler", "have the application's iterable do it in its close()"),
    refused("PythonConnectionHandler", HANDLER),
    refused("PythonInputFilter", FILTER),
    refused("PythonOutputFilter", FILTER),
];
