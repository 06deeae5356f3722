//! Splits the bytes of an input into texts.
//!
//! The separator is a byte that does not occur in UTF-8, so every text is a valid input, and seeds do not have to be
//! encoded.

/// Separator of the texts of an input.
pub(crate) const SEPARATOR: u8 = 0xff;

/// Limit on the length of inputs. Longer inputs do not find more, and take the time of many shorter ones.
pub(crate) const LONGEST: usize = 64 * 1024;

/// Returns the parts of an input.
pub(crate) fn parts(data: &[u8]) -> impl Iterator<Item = &[u8]> {
    data.split(|&byte| byte == SEPARATOR)
}

/// Returns the text of a part; replaces invalid UTF-8.
pub(crate) fn text(part: &[u8]) -> String {
    String::from_utf8_lossy(part).into_owned()
}

/// Returns a hash of the bytes, for selecting one of several checks.
pub(crate) fn choice(data: &[u8]) -> u32 {
    let mixed = data.iter().fold(0x811c_9dc5_u32, |hash, &byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    });
    mixed >> 8
}

/// Sequence of small numbers; zeros after its end.
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
