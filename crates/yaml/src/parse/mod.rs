//! The parser for all documents, based on granit-parser.

mod builder;
mod candidates;
mod document;
mod events;
mod fault;
mod json;
mod json_string;
mod padding;
mod regions;
mod white_space;

pub use document::{parse, parse_fully, parse_within};

#[cfg(test)]
mod tests;
