//! JSON strings with U+007F (delete).

/// The character that granit-parser rejects.
pub(super) const DELETE: u8 = 0x7f;

/// Returns the value of a JSON string that contains U+007F; `None` for any other text.
pub(super) fn value(quoted: &str) -> Option<String> {
    memchr::memchr(DELETE, quoted.as_bytes())?;
    serde_json::from_str(quoted).ok()
}
