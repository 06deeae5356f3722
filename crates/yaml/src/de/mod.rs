//! Deserializes typed values directly from nodes, so that errors have an exact position.
//!
//! The rules are those of `sigs.k8s.io/yaml`, which converts YAML to JSON and decodes that: merge
//! keys are applied, the last of duplicate keys wins, scalars follow YAML 1.1, and `8080.0`
//! becomes the integer that JSON prints for it. A null in a list is the zero value of its type, as Go decodes it.

mod deserializer;

pub use deserializer::{DeError, from_node};

#[cfg(test)]
mod tests;
