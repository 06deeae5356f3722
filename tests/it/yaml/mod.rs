//! Parsing and editing of YAML.

mod edits;
mod fast_parser;
pub(crate) mod layouts;
mod properties;
