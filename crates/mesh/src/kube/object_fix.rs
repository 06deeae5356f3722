//! Fixes of the documents that contain objects.

use std::sync::Arc;

use meshprobe_yaml::Change;

use super::object::Object;
use crate::finding::{Applicability, Fix};

impl Fix {
    /// Creates a fix of the document that contains an object. The engine turns the changes into byte edits.
    pub fn of_object(
        object: &Object<'_>,
        title: impl Into<String>,
        applicability: Applicability,
        changes: Vec<Change>,
    ) -> Self {
        Self {
            title: title.into(),
            applicability,
            path: Arc::clone(object.path()),
            document: object.document.index,
            changes,
            added_document: None,
            edits: Vec::new(),
        }
    }
}
