//! The parser for all documents, based on granit-parser.

mod builder;
mod document;
mod outdented_quotes;

pub use document::{parse, parse_fully, parse_within};

#[cfg(test)]
mod tests;
