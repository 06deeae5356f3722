//! Texts of manifests in answers: without control characters, and not longer than an answer can afford.

use crate::report::escape_control;

/// The longest text of one field in bytes.
const LONGEST: usize = 400;

/// The longest list of texts in an item.
const MOST: usize = 10;

/// Returns a text on one line: control characters are escaped as in other reports, and a long text is shortened.
pub(super) fn clean(text: &str) -> String {
    clean_line(text, LONGEST)
}

/// Returns a text on one line of at most about `longest` bytes.
pub(super) fn clean_line(text: &str, longest: usize) -> String {
    let escaped = escape_control(text);
    if escaped.len() <= longest {
        return escaped.into_owned();
    }
    let end = escaped.floor_char_boundary(longest);
    format!("{}…", escaped.get(..end).unwrap_or_default())
}

/// Returns the texts of a list, cleaned. Of a long list, the last text is the number of those that are left out.
pub(super) fn clean_all(texts: &[String]) -> Vec<String> {
    let mut cleaned: Vec<String> = texts.iter().take(MOST).map(|text| clean(text)).collect();
    if let Some(more) = texts.len().checked_sub(MOST).filter(|more| *more > 0) {
        cleaned.push(format!("{more} more"));
    }
    cleaned
}
