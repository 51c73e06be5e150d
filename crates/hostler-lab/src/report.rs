//! Reports, made from runs: tables for the terminal, a page for the browser, CSV.
