//! Cursors of lists: the position of the next item, and a fingerprint of the list.
//!
//! A cursor contains all that the next call needs, so the server keeps no results. The list is computed again for each
//! page; if it has changed meanwhile, the cursor is stale, and the client starts again instead of missing items.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

/// Why a cursor is not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CursorError {
    /// The text is not a cursor of this list.
    Invalid,
    /// The list has changed since the cursor was issued.
    Stale,
}

/// Returns the fingerprint of a list. `parts` are its items as text.
pub(super) fn fingerprint<'t>(name: &str, parts: impl IntoIterator<Item = &'t str>) -> u64 {
    let mut hasher = DefaultHasher::new();
    name.hash(&mut hasher);
    for part in parts {
        part.hash(&mut hasher);
    }
    hasher.finish()
}

/// Returns the cursor of the item at `offset`.
pub(super) fn encode(offset: usize, fingerprint: u64) -> String {
    format!("{offset:x}.{fingerprint:016x}")
}

/// Returns the position in a list of `length` items.
///
/// # Errors
/// The text is not a cursor, or belongs to another list.
pub(super) fn decode(text: &str, length: usize, fingerprint: u64) -> Result<usize, CursorError> {
    let (offset, hash) = text.split_once('.').ok_or(CursorError::Invalid)?;
    let offset = usize::from_str_radix(offset, 16).map_err(|_| CursorError::Invalid)?;
    let hash = u64::from_str_radix(hash, 16).map_err(|_| CursorError::Invalid)?;
    if hash != fingerprint {
        return Err(CursorError::Stale);
    }
    // Only a cursor that the server did not issue is not in the list.
    if offset < length && encode(offset, hash) == text {
        Ok(offset)
    } else {
        Err(CursorError::Invalid)
    }
}
