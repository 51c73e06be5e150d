//! SDBM's `.pag` file: pages of 1 KiB. A page begins with how many places follow; places stand in pairs, of a key and its
//! value, which fill the page from its end: each goes from its place to where the one before it begins.

use crate::Error;
use crate::bytes;

/// Bytes of a page (APR's `PBLKSIZ`).
const PAGE: usize = 1024;

pub(crate) fn read(file: &[u8], each: &mut dyn FnMut(&[u8], &[u8]) -> bool) -> Result<(), Error> {
    if !file.len().is_multiple_of(PAGE) {
        return Err(Error::Damaged);
    }
    for page in file.chunks_exact(PAGE) {
        let count = usize::from(bytes::u16(page, 0)?);
        if !count.is_multiple_of(2) || 2 + 2 * count > PAGE {
            return Err(Error::Damaged);
        }
        let mut end = PAGE;
        for pair in 0..count / 2 {
            let key = item(page, 1 + 2 * pair, count, &mut end)?;
            let value = item(page, 2 + 2 * pair, count, &mut end)?;
            if !each(key, value) {
                return Ok(());
            }
        }
    }
    Ok(())
}

/// The item whose place has this number, and which ends where the last one has begun.
fn item<'p>(page: &'p [u8], number: usize, count: usize, end: &mut usize) -> Result<&'p [u8], Error> {
    let begin = usize::from(bytes::u16(page, 2 * number)?);
    if begin < 2 + 2 * count || begin > *end {
        return Err(Error::Damaged);
    }
    let item = &page[begin..*end];
    *end = begin;
    Ok(item)
}
