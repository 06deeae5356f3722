//! How bytes are taken apart.
//!
//! A byte that occurs in no UTF-8 text parts the texts of one input, so every text is an input as
//! it stands, and a seed needs no packing.

/// Parts the texts of an input.
pub(crate) const SEPARATOR: u8 = 0xff;

/// Longer inputs find nothing that shorter ones do not, and cost the time of many.
pub(crate) const LONGEST: usize = 64 * 1024;

/// Returns the parts of an input.
pub(crate) fn parts(data: &[u8]) -> impl Iterator<Item = &[u8]> {
    data.split(|&byte| byte == SEPARATOR)
}

/// Returns the text of a part; what is no UTF-8 is replaced.
pub(crate) fn text(part: &[u8]) -> String {
    String::from_utf8_lossy(part).into_owned()
}

/// Returns a number that is the same for the same bytes, and any for others.
pub(crate) fn choice(data: &[u8]) -> u32 {
    let mixed = data.iter().fold(0x811c_9dc5_u32, |hash, &byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    });
    mixed >> 8
}

/// Small numbers, one after the other; zeros when they are used up.
pub(crate) struct Numbers<'a> {
    bytes: std::slice::Iter<'a, u8>,
}

impl<'a> Numbers<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self {
            bytes: bytes.iter(),
        }
    }

    pub(crate) fn next(&mut self) -> usize {
        self.bytes.next().copied().unwrap_or_default().into()
    }

    pub(crate) fn pick<'t, T>(&mut self, of: &'t [T]) -> &'t T {
        &of[self.next() % of.len()]
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.bytes.len() == 0
    }
}
