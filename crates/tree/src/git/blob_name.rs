//! The names that git gives to contents.
//!
//! Source: git 2.47, `Documentation/gitformat-loose.txt` and `object-file.c` (`format_object_header`).

use sha1::{Digest as _, Sha1};

/// Returns whether an object with this name has this content. Returns `false` for names of repositories that do not use
/// SHA-1.
pub(super) fn is_name_of(name: &str, content: &[u8]) -> bool {
    let mut hash = Sha1::new();
    hash.update(format!("blob {}\0", content.len()));
    hash.update(content);
    let digits = name.as_bytes().chunks_exact(2);
    let hash = hash.finalize();
    name.len() == 2 * hash.len()
        && digits.zip(hash).all(|(pair, byte)| {
            let pair = str::from_utf8(pair).ok();
            pair.and_then(|pair| u8::from_str_radix(pair, 16).ok()) == Some(byte)
        })
}

#[cfg(test)]
mod tests {
    use super::is_name_of;

    #[test]
    fn names_of_contents_are_recognized() {
        // From `git hash-object`.
        let empty = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391";
        let line = "ce013625030ba8dba906f756967f9e9ca394464a";
        assert!(is_name_of(empty, b"") && is_name_of(line, b"hello\n"));
        assert!(!is_name_of(empty, b"hello\n") && !is_name_of(line, b"hello\r\n"));
        assert!(!is_name_of("", b"") && !is_name_of(empty.trim_end_matches("91"), b""));
        assert!(!is_name_of(&format!("{empty}00"), b""));
    }
}
