//! Writes the index that a checkout of a revision would have, so that it is clear which files git tracks.
//!
//! Source: git 2.47, `Documentation/gitformat-index.txt`, version 2.

use std::path::Path;

use super::names::bytes_of;

/// Bytes of an entry that describe the file on disk.
const STAT: [u8; 40] = [0; 40];

/// Bits of the flags with the length of the name; all of them are set for longer names.
const LENGTH: u16 = 0xfff;

/// Returns the content of an index with these paths and the names of their objects. Only the paths are meaningful.
pub(super) fn index_of<'p>(files: impl Iterator<Item = (&'p Path, &'p str)>) -> Vec<u8> {
    let mut entries: Vec<(Vec<u8>, Vec<u8>)> = files
        .map(|(path, object)| (bytes_of(path), decoded(object)))
        .collect();
    entries.sort();
    let hash = entries.first().map_or(20, |(_, object)| object.len());
    let mut index = b"DIRC\0\0\0\x02".to_vec();
    let count = u32::try_from(entries.len()).unwrap_or(u32::MAX);
    index.extend(count.to_be_bytes());
    for (name, object) in entries {
        let start = index.len();
        index.extend(STAT);
        index.extend(object);
        let length = u16::try_from(name.len()).map_or(LENGTH, |length| length.min(LENGTH));
        index.extend(length.to_be_bytes());
        index.extend(name);
        // One to eight zero bytes pad the entry to a multiple of eight.
        let padding = 8 - (index.len() - start) % 8;
        index.resize(index.len() + padding, 0);
    }
    index.resize(index.len() + hash, 0);
    index
}

/// Decodes the hexadecimal name of an object.
fn decoded(object: &str) -> Vec<u8> {
    let digits = object.as_bytes().chunks(2);
    let byte = |pair: &[u8]| u8::from_str_radix(str::from_utf8(pair).ok()?, 16).ok();
    digits.map(|pair| byte(pair).unwrap_or_default()).collect()
}
