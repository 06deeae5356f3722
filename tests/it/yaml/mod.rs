//! Parsing and editing of YAML.

mod edits;
mod fast_parser;
mod kubectl_readings;
mod kubectl_texts;
pub(crate) mod layouts;
mod properties;
