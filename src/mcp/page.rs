//! Pages of a list: an answer contains as many items as a few thousand tokens hold.

use rmcp::schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::cursor::{self, CursorError};
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
            .map(|item| serde_json::to_string(item).unwrap_or_default())
            .collect();
        let fingerprint = cursor::fingerprint(name, texts.iter().map(String::as_str));
        let start = match &self.cursor {
            Some(text) => cursor::decode(text, items.len(), fingerprint).map_err(rejected)?,
            None => 0,
        };
        let count = fitting(texts.iter().skip(start), self.limit.unwrap_or(usize::MAX));
        let total = items.len();
        let end = start.saturating_add(count);
        Ok(Page {
            items: items.into_iter().skip(start).take(count).collect(),
            total,
            next_cursor: (end < total).then(|| cursor::encode(end, fingerprint)),
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
