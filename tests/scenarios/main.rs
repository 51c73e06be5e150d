//! Hostler seen from outside: each module is a technique or a promise, each test a scenario of configuration,
//! program, request and expectation.

mod applications;
mod builds;
mod cgi;
mod closed;
mod fastcgi;
mod faults;
mod files;
mod install;
mod limits;
mod logins;
mod logs;
mod mason;
mod perl;
mod perl_generation_1;
mod perl_guards;
mod perl_sections;
mod php;
mod proxy;
mod proxy_members;
mod psgi;
mod readme;
mod rewriting;
mod rewriting_maps;
mod serve;
mod service;
mod servlet;
mod setup;
mod showcase;
mod ssi;
mod status;
mod tenants;
mod tls;
mod wordpress;
mod workers;
mod wsgi;
