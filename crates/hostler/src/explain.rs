//! `hostler explain`: which file and line decide what for a URL.

use crate::Failed;
use crate::cli::Explain;
use crate::load;

pub(crate) fn explain(args: &Explain) -> Result<(), Failed> {
    let loaded = load::files(&args.configuration)?;
    let _ = (&loaded.config, &args.url);
    Err(Failed("explain can't be had yet".to_string()))
}
