//! Memory limit for parsed files, and estimates of their size in memory.
//!
//! A dense document such as `[a,a,a]` takes up to 40 times its size. The estimate includes the data that a run keeps
//! for a file, so that any number of ordinary files fits.

use crate::source::memory_budget::MemoryBudget;
use crate::source::parse_file::COPIES;

/// Bytes for each file in addition to [`MemoryBudget::FLOOR`].
const PER_FILE: usize = 16 << 10;

/// Larger texts (in bytes) are parsed only if they fit several times.
const LARGE: usize = 4 << 20;

/// Returns the budget of a run that reads `files` files.
#[must_use]
pub fn parse_budget(max_parsed: Option<usize>, files: usize) -> MemoryBudget {
    let ordinary = MemoryBudget::FLOOR.saturating_add(files.saturating_mul(PER_FILE));
    MemoryBudget::new(max_parsed.unwrap_or(ordinary))
}

/// Returns whether a text of `length` bytes can be parsed with what `budget` has left.
pub(in crate::source) fn can_parse(length: usize, budget: &MemoryBudget) -> bool {
    length <= LARGE || length.saturating_mul(COPIES) <= budget.left()
}
