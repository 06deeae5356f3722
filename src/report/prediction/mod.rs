//! Prepares predictions for output: as rows, as explanations and as JSON.

mod explanation;
mod json;
mod row;

pub use explanation::{Explanation, Line, explanations};
pub use json::Report;
pub use row::{Row, rows, table};
