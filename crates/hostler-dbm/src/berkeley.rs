//! Berkeley DB's access method hash (versions 8 to 10, that is since release 4.2). After a page that describes the file
//! come pages with items, in pairs of key and value; what is too long for a page stands in a chain of others. The pages
//! are gone through in the order of the file: which bucket they belong to matters to look-ups alone.

use crate::Error;
use crate::bytes::{self, Room, slice};
use std::borrow::Cow;

const HASH: u32 = 0x0006_1561;
const BTREE: u32 = 0x0005_3162;
/// Bytes of a page's head.
const HEAD: usize = 26;

/// `dbinc/db_page.h`: types of pages, and of items on pages of a hash.
const PAGE_HASH_UNSORTED: u8 = 2;
const PAGE_OVERFLOW: u8 = 7;
const PAGE_HASH: u8 = 13;
const ITEM_INLINE: u8 = 1;
const ITEM_OFF_PAGE: u8 = 3;

struct File<'f> {
    bytes: &'f [u8],
    page_size: usize,
}

pub(crate) fn read(bytes: &[u8], each: &mut dyn FnMut(&[u8], &[u8]) -> bool) -> Result<(), Error> {
    let file = File::open(bytes)?;
    let mut room = Room::of(bytes);
    for page in bytes.chunks_exact(file.page_size).skip(1) {
        if !matches!(page[25], PAGE_HASH | PAGE_HASH_UNSORTED) {
            continue;
        }
        let count = usize::from(bytes::u16(page, 20)?);
        if !count.is_multiple_of(2) || HEAD + 2 * count > file.page_size {
            return Err(Error::Damaged);
        }
        for pair in 0..count / 2 {
            let key = file.item(page, 2 * pair, &mut room)?;
            let value = file.item(page, 2 * pair + 1, &mut room)?;
            if !each(&key, &value) {
                return Ok(());
            }
        }
    }
    Ok(())
}

impl<'f> File<'f> {
    fn open(bytes: &'f [u8]) -> Result<Self, Error> {
        match bytes::u32(bytes, 12) {
            Ok(HASH) => {}
            Ok(BTREE) => return Err(Error::Form("a Berkeley DB of the access method B-tree")),
            _ => return Err(Error::Unknown),
        }
        let version = bytes::u32(bytes, 16)?;
        let page_size = bytes::u32(bytes, 20)? as usize;
        if !(8..=10).contains(&version) {
            return Err(Error::Form("a Berkeley DB of a release before 4.2, or after the known ones"));
        }
        // The cipher, and the flag of checksums.
        if slice(bytes, 24, 1)? != [0] || slice(bytes, 26, 1)? != [0] {
            return Err(Error::Form("encrypted, with checksums, or a part of several files"));
        }
        let has_pages = page_size.is_power_of_two() && (512..=65536).contains(&page_size);
        if !has_pages || !bytes.len().is_multiple_of(page_size) {
            return Err(Error::Damaged);
        }
        Ok(Self { bytes, page_size })
    }

    /// The item of this number, without the byte that tells its type. It ends where the one before it begins.
    fn item(&self, page: &'f [u8], number: usize, room: &mut Room) -> Result<Cow<'f, [u8]>, Error> {
        let place = |number: usize| bytes::u16(page, HEAD + 2 * number).map(usize::from);
        let begin = place(number)?;
        let end = if number == 0 { self.page_size } else { place(number - 1)? };
        let item = page.get(begin..end).ok_or(Error::Damaged)?;
        match item.split_first() {
            Some((&ITEM_INLINE, item)) => Ok(item.into()),
            Some((&ITEM_OFF_PAGE, _)) => {
                let (first, length) = (bytes::u32(item, 4)?, bytes::u32(item, 8)?);
                self.chain(first, length as usize, room).map(Into::into)
            }
            Some(_) => Err(Error::Form("several values of a key")),
            None => Err(Error::Damaged),
        }
    }

    /// Reads the contents of a chain of pages.
    fn chain(&self, mut number: u32, length: usize, room: &mut Room) -> Result<Vec<u8>, Error> {
        room.take(length as u64)?;
        let mut found = Vec::with_capacity(length);
        while found.len() < length {
            let page = slice(self.bytes, u64::from(number) * self.page_size as u64, self.page_size as u64)?;
            let used = u64::from(bytes::u16(page, 22)?);
            // A chain without bytes would never end.
            if page[25] != PAGE_OVERFLOW || used == 0 {
                return Err(Error::Damaged);
            }
            found.extend_from_slice(slice(page, HEAD as u64, used)?);
            number = bytes::u32(page, 16)?;
        }
        found.truncate(length);
        Ok(found)
    }
}
