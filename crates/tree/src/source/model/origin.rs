//! Map from rendered objects to the files that users edit.

use std::fmt;
use std::sync::Arc;

use meshprobe_yaml::{Position, Span};

use crate::source::model::document::Document;
use crate::source::model::objects::Objects;

/// Source of a part of a rendered manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// The file as shown to the user; if it was not found, its name in the output of the renderer.
    pub path: Arc<str>,
    /// The start and the end of the part in the file, if they are known.
    pub place: Option<(Position, Position)>,
}

/// Map from the objects of a rendered file to the files that users edit.
pub(in crate::source) trait OriginIndex: fmt::Debug + Send + Sync {
    /// Returns the source of the text at `span`, if it is recorded. `documents` and `objects` are those of the rendered
    /// file.
    fn source_of(&self, documents: &[Document], objects: &Objects, span: Span) -> Option<Source>;
}
