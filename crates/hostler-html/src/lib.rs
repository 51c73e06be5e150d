//! Pages of HTML on their way to the client: their links changed as they come (mod_proxy_html), the fields that they name,
//! and the character set that they are in (mod_xml2enc).
//!
//! Everything that is no link stays as it is, byte for byte. No I/O.

pub mod charset;
pub mod meta;
mod page;

pub use page::Page;
