//! Origins of the objects of a rendered file.

use std::collections::BTreeMap;
use std::sync::Arc;

use meshprobe_yaml::{NodeRef, Position, Span};

use crate::source::model::document::Document;
use crate::source::model::objects::Objects;
use crate::source::model::origin::{OriginIndex, Source};
use crate::source::origin::hint::OriginHint;
use crate::source::origin::original::Original;
use crate::source::origin::{field_steps, place};

/// Origin of an object.
#[derive(Clone, Debug)]
pub(in crate::source) struct Origin {
    /// The path as shown to the user.
    pub(super) path: Arc<str>,
    /// The file, if it was found.
    pub(super) file: Option<Arc<Original>>,
    pub(super) hint: OriginHint,
}

/// Origins of one file, by the number of the document and the number of the object in it.
#[derive(Debug)]
pub(in crate::source) struct Origins(BTreeMap<(usize, usize), Origin>);

impl Origins {
    /// Creates the index, unless there are no origins.
    pub(in crate::source) fn new(origins: BTreeMap<(usize, usize), Origin>) -> Option<Self> {
        (!origins.is_empty()).then_some(Self(origins))
    }
}

impl OriginIndex for Origins {
    fn source_of(&self, documents: &[Document], objects: &Objects, span: Span) -> Option<Source> {
        let document = documents
            .partition_point(|document| document.segment.start <= span.start)
            .checked_sub(1)?;
        let (object, count) = objects.around(documents, document, span);
        // The span may be outside of the only object of its document.
        let number = object
            .map(|(number, _)| number)
            .or((count < 2).then_some(0))?;
        let origin = self.0.get(&(document, number))?;
        Some(Source {
            path: Arc::clone(&origin.path),
            place: object.and_then(|(_, object)| origin.place(object, span)),
        })
    }
}

impl Origin {
    /// Returns the start and the end of the same field in the original file.
    fn place(&self, object: NodeRef<'_>, span: Span) -> Option<(Position, Position)> {
        let original = self.file.as_deref()?;
        let file = &original.file;
        let path = field_steps::to(object, span)?;
        let found = if self.hint.is_template() && original.is_template {
            original.template()?.find(&file.text, &path)?
        } else {
            place::find(original, object, &self.hint, &path)?
        };
        Some((file.position(found.start), file.position(found.end)))
    }
}
