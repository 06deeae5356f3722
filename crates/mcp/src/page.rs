//! Pages of a list: an answer contains as many items as a few thousand tokens hold.
//!
//! A cursor contains all that the next call needs, so the server keeps no results. The list is computed again for each
//! page; if it has changed meanwhile, the cursor is stale, and the client starts again instead of missing items.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use rmcp::schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::error::ToolError;

/// The bytes of the items of a page in JSON: about 3,000 tokens.
const BUDGET: usize = 10_000;

/// Which part of a list an answer contains.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(crate = "rmcp::schemars")]
pub(super) struct Paging {
    /// Maximum number of items. An answer has at most a few thousand tokens anyway.
    #[schemars(range(min = 1))]
    pub(super) limit: Option<usize>,
    /// The `next_cursor` of the previous answer, for the next items. Repeat all other parameters.
    pub(super) cursor: Option<String>,
}

/// A part of a list.
#[derive(Clone, Debug)]
pub(super) struct Page<T> {
    pub(super) items: Vec<T>,
    /// The number of items in the list.
    pub(super) total: usize,
    /// The cursor of the items after this page.
    pub(super) next_cursor: Option<String>,
}

impl Paging {
    /// Returns the page of `items` that is requested.
    ///
    /// # Errors
    /// The cursor is not valid or stale, or the limit is 0.
    pub(super) fn of<T: Serialize>(&self, name: &str, items: Vec<T>) -> Result<Page<T>, ToolError> {
        if self.limit == Some(0) {
            return Err(ToolError::new(
                "invalid value 0 for `limit`: expected a number from 1",
            ));
        }
        let texts: Vec<String> = items
            .iter()
            .map(|item| without_missing(item).to_string())
            .collect();
        let fingerprint = fingerprint(name, texts.iter().map(String::as_str));
        let start = match &self.cursor {
            Some(text) => decode(text, items.len(), fingerprint).map_err(rejected)?,
            None => 0,
        };
        let count = fitting(texts.iter().skip(start), self.limit.unwrap_or(usize::MAX));
        let total = items.len();
        let end = start.saturating_add(count);
        Ok(Page {
            items: items.into_iter().skip(start).take(count).collect(),
            total,
            next_cursor: (end < total).then(|| encode(end, fingerprint)),
        })
    }
}

/// Returns how many texts fit on a page: at least one.
fn fitting<'t>(texts: impl Iterator<Item = &'t String>, limit: usize) -> usize {
    let mut left = BUDGET;
    let mut count = 0;
    for text in texts.take(limit) {
        match left.checked_sub(text.len()) {
            Some(rest) => left = rest,
            None if count == 0 => left = 0,
            None => break,
        }
        count += 1;
    }
    count
}

fn rejected(error: CursorError) -> ToolError {
    match error {
        CursorError::Stale => ToolError::new(
            "the cursor is stale: the files or the parameters have changed since the previous answer",
        )
        .help("call again without `cursor`"),
        CursorError::Invalid => {
            ToolError::new("invalid value for `cursor`: it is not the `next_cursor` of an answer")
                .help("call again without `cursor`")
        }
    }
}

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

/// Returns a value without parts that are missing, which would cost the assistant tokens.
pub(super) fn without_missing(value: &impl Serialize) -> Value {
    let mut value = serde_json::to_value(value).unwrap_or_default();
    remove_missing(&mut value);
    value
}

fn remove_missing(value: &mut Value) {
    match value {
        Value::Object(object) => {
            object.retain(|_, value| !value.is_null());
            object.values_mut().for_each(remove_missing);
        }
        Value::Array(items) => items.iter_mut().for_each(remove_missing),
        _ => {}
    }
}
