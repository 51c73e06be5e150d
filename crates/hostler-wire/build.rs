//! Gives the sources that decide how Hostler's processes understand each other one number, which they then compare
//! ([`Build`](src/build.rs)): the release, this crate, the layout of the memory that front and workers share, and what
//! engines and the front say beyond that.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

/// Folders with such sources, seen from this crate.
const FOLDERS: [&str; 2] = ["src", "../hostler-ring/src"];
/// Engines, each with such a folder of its own if it has more to say.
const ENGINES: &str = "../../engines";

fn main() -> Result<(), Box<dyn Error>> {
    let mut sources = Vec::new();
    for folder in FOLDERS {
        println!("cargo::rerun-if-changed={folder}");
        collect(Path::new(folder), &mut sources)?;
    }
    println!("cargo::rerun-if-changed={ENGINES}");
    for engine in fs::read_dir(ENGINES)? {
        let frames = engine?.path().join("frames/src");
        if frames.is_dir() {
            println!("cargo::rerun-if-changed={}", frames.display());
            collect(&frames, &mut sources)?;
        }
    }
    sources.sort();
    let mut sum = add(OFFSET, std::env::var("CARGO_PKG_VERSION")?.as_bytes());
    for path in sources {
        sum = add(sum, path.to_string_lossy().as_bytes());
        sum = add(sum, &fs::read(&path)?);
    }
    // Bits from all of the 128: the lowest of an FNV sum know of the lowest of each byte alone.
    println!("cargo::rustc-env=HOSTLER_BUILD={:024x}", (sum >> 32 ^ sum << 64) & (u128::MAX >> 32));
    Ok(())
}

fn collect(folder: &Path, sources: &mut Vec<PathBuf>) -> Result<(), Box<dyn Error>> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, sources)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            sources.push(path);
        }
    }
    Ok(())
}

/// FNV-1a with 128 bits: nobody attacks this number, it only has to differ.
const OFFSET: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;

fn add(sum: u128, bytes: &[u8]) -> u128 {
    bytes.iter().fold(sum, |sum, byte| (sum ^ u128::from(*byte)).wrapping_mul(PRIME))
}
