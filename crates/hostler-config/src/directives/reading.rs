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
        read("Include", "file|directory|pattern", "Reads other files"),
        read("IncludeOptional", "file|directory|pattern", "Reads other files, if there are any"),
        read("Define", "name [value]", "Makes a variable"),
        read("UnDefine", "name", "Removes a variable"),
        read("LoadModule", "name file", "Without effect: what Hostler has is built in"),
        read("ServerRoot", "directory", "Where relative paths begin"),
        everywhere(read("IfModule", "<IfModule [!]module>", "Lines for when a module is there")),
        everywhere(read("IfDefine", "<IfDefine [!]name>", "Lines for when a variable is defined")),
        everywhere(read(
            "IfVersion",
            "<IfVersion [[!]operator] version>",
            "Lines for some versions of Apache",
        )),
        everywhere(read("IfDirective", "<IfDirective [!]name>", "Lines for when a directive is there")),
        everywhere(read("IfSection", "<IfSection [!]name>", "Lines for when a section is there")),
        everywhere(read("IfFile", "<IfFile [!]file>", "Lines for when a file is there")),
        everywhere(read("Macro", "<Macro name [parameter ...]>", "Lines to be used often")),
        everywhere(read("Use", "macro [value ...]", "The lines of a macro")),
        everywhere(read("UndefMacro", "macro", "Removes a macro")),
        everywhere(read("MacroIgnoreEmptyArgs", "", "Without effect")),
        everywhere(read("MacroIgnoreBadNesting", "", "Without effect")),
        everywhere(read("Error", "text", "Stops with a text")),
        everywhere(read("Warning", "text", "Warns with a text")),
    ],
    effect: Effect::Guards,
};
