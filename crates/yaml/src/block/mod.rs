//! The fast parser: ordinary block YAML, line by line, in one pass.
//!
//! It builds the same tree as the full parser, or declines the text. It never reports a fault: it leaves every text
//! that may be faulty to the full parser, which reports the error. It does not support anchors, tags, merge keys by
//! alias, directives, explicit keys, tabs between tokens, indentation indicators, or lines that parsers read
//! differently.
//!
//! Source of the rules: YAML 1.2.2; for the positions of tokens, granit-parser 2.1.0.

mod document;
mod flow;
mod lines;
mod scalars;

pub use document::parse_fast;
pub(super) use document::{OverLimit, parse_fast_within};
