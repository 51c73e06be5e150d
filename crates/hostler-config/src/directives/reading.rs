//! Directives that are settled while the files are read (Include, Define, IfModule and their relatives): rows for the
//! table, so that they are known and documented. What they do is the reader's (`crate::read`).

use crate::table::{Action, Arity, Contexts, Directive, Effect, Module, Overrides};

/// A directive that is carried out while reading.
const fn read(name: &'static str, form: &'static str, doc: &'static str) -> Directive {
    Directive {
        name,
        arity: Arity::RawArgs,
        form,
        doc,
        contexts: Contexts::CONFIG,
        overrides: Overrides::NONE,
        action: Action::Read,
        effect: None,
    }
}

/// One that .htaccess files may contain too.
const fn everywhere(directive: Directive) -> Directive {
    directive.allowed(Contexts::ANYWHERE, Overrides::ALL)
}

/// The directives that are settled while reading.
pub(crate) static MODULE: Module = Module {
    name: "core_module",
    file: "core.c",
    directives: &[
        read("Include", "file|directory|pattern", "Include other configuration files"),
        read("IncludeOptional", "file|directory|pattern", "Include other configuration files if they exist"),
        read("Define", "name [value]", "Define a variable"),
        read("UnDefine", "name", "Undefine a variable"),
        read("LoadModule", "name file", "No effect: all modules of Hostler are built in"),
        read("ServerRoot", "directory", "Set the base directory of relative paths"),
        everywhere(read(
            "IfModule",
            "<IfModule [!]module>",
            "Process directives only if a module is present",
        )),
        everywhere(read(
            "IfDefine",
            "<IfDefine [!]name>",
            "Process directives only if a variable is defined",
        )),
        everywhere(read(
            "IfVersion",
            "<IfVersion [[!]operator] version>",
            "Process directives only for matching versions of Apache",
        )),
        everywhere(read(
            "IfDirective",
            "<IfDirective [!]name>",
            "Process directives only if a directive exists",
        )),
        everywhere(read(
            "IfSection",
            "<IfSection [!]name>",
            "Process directives only if a section directive exists",
        )),
        everywhere(read("IfFile", "<IfFile [!]file>", "Process directives only if a file exists")),
        everywhere(read("Macro", "<Macro name [parameter ...]>", "Define a reusable group of directives")),
        everywhere(read("Use", "macro [value ...]", "Insert the directives of a macro")),
        everywhere(read("UndefMacro", "macro", "Undefine a macro")),
        everywhere(read("MacroIgnoreEmptyArgs", "", "No effect")),
        everywhere(read("MacroIgnoreBadNesting", "", "No effect")),
        everywhere(read("Error", "text", "Stop with an error message")),
        everywhere(read("Warning", "text", "Print a warning")),
    ],
    effect: Effect::Guards,
};
