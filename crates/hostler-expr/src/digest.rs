//! `md5()` and `sha1()`: digests as lower-case hexadecimal.

use crate::text::hex;
use md5::{Digest as _, Md5};
use sha1::Sha1;

pub(crate) fn md5(text: &[u8]) -> Vec<u8> {
    hex(&Md5::digest(text))
}

pub(crate) fn sha1(text: &[u8]) -> Vec<u8> {
    hex(&Sha1::digest(text))
}
