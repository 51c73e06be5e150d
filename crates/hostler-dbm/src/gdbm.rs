//! GNU dbm, files of machines with 64 bits. A head says where the directory is, a list of places of buckets in which a
//! bucket may stand several times in a row; a bucket's elements say where key and value stand, one behind the other.

use crate::Error;
use crate::bytes::{self, Room, slice};

/// `gdbmconst.h`: `GDBM_MAGIC64`, `GDBM_NUMSYNC_MAGIC64`; then those of other kinds of machines.
const MAGIC: [u32; 2] = [0x1357_9acf, 0x1357_9ad1];
const OTHERS: [u32; 4] = [0x1357_9acd, 0x1357_9ace, 0x1357_9acc, 0x1357_9ad0];
/// Offsets in a bucket: the number of elements, their start, and the bytes of each (`gdbmdefs.h`).
const COUNT: usize = 108;
const ELEMENTS: usize = 112;
const ELEMENT: usize = 24;
/// The hash of an element in which nothing is.
const FREE: u32 = u32::MAX;

/// Returns whether a file says that it is one.
pub(crate) fn is(file: &[u8]) -> bool {
    bytes::u32(file, 0).is_ok_and(|magic| MAGIC.contains(&magic) || OTHERS.contains(&magic))
}

pub(crate) fn read(file: &[u8], each: &mut dyn FnMut(&[u8], &[u8]) -> bool) -> Result<(), Error> {
    match bytes::u32(file, 0) {
        Ok(magic) if MAGIC.contains(&magic) => {}
        Ok(magic) if OTHERS.contains(&magic) => {
            return Err(Error::Form("a GNU dbm file of a machine without 64 bits"));
        }
        _ => return Err(Error::Unknown),
    }
    let (directory, size) = (bytes::u64(file, 8)?, bytes::u32(file, 16)?);
    let (bucket_size, most) = (bytes::u32(file, 24)?, bytes::u32(file, 28)? as usize);
    if ELEMENTS + most * ELEMENT > bucket_size as usize {
        return Err(Error::Damaged);
    }
    let mut places = Vec::new();
    for place in slice(file, directory, u64::from(size))?.chunks_exact(8) {
        places.push(bytes::u64(place, 0)?);
    }
    places.sort_unstable();
    places.dedup();
    let (mut buckets, mut items) = (Room::of(file), Room::of(file));
    for place in places {
        buckets.take(u64::from(bucket_size))?;
        let bucket = slice(file, place, u64::from(bucket_size))?;
        if !elements(file, bucket, most, &mut items, each)? {
            break;
        }
    }
    Ok(())
}

/// Returns whether to go on after a bucket.
fn elements(
    file: &[u8],
    bucket: &[u8],
    most: usize,
    items: &mut Room,
    each: &mut dyn FnMut(&[u8], &[u8]) -> bool,
) -> Result<bool, Error> {
    let count = bytes::u32(bucket, COUNT)? as usize;
    let elements = bucket.get(ELEMENTS..).ok_or(Error::Damaged)?.chunks_exact(ELEMENT).take(most);
    let mut found = 0;
    for element in elements.filter(|element| bytes::u32(element, 0) != Ok(FREE)) {
        let place = bytes::u64(element, 8)?;
        let (key, value) = (u64::from(bytes::u32(element, 16)?), u64::from(bytes::u32(element, 20)?));
        items.take(key + value)?;
        let after = place.checked_add(key).ok_or(Error::Damaged)?;
        if !each(slice(file, place, key)?, slice(file, after, value)?) {
            return Ok(false);
        }
        found += 1;
    }
    if found == count { Ok(true) } else { Err(Error::Damaged) }
}
