//! From rendered manifests back to the file that a person edits.
//!
//! kustomize, kpt and helm each leave a trail: annotations, or a comment. It is read once when the
//! files are loaded; all lookups after that are pure.

mod files;
mod hops;
mod objects;
mod original;
mod place;
mod said;
mod template;
mod template_lines;

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::yaml::{NodeRef, Position, Span};

use super::file::{SourceFile, SourceSet};
use super::find::{Input, Request};
use super::rendered::{Rendered, Trail};

use files::Files;
use hashbrown::HashMap;
use objects::objects_of;
use original::Original;
use said::Said;

pub use files::relative_path;
pub(super) use objects::Objects;

/// Where something in a rendered manifest comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// The file as shown to the user; where it was not found, its name as the renderer says it.
    pub path: Arc<str>,
    /// The first and the last place of it there, where they are known.
    pub place: Option<(Position, Position)>,
}

/// The origins of one file: by the number of the document, and that of the object in it.
pub(super) type Origins = BTreeMap<(usize, usize), Origin>;

/// The origin of one object.
#[derive(Clone, Debug)]
pub(super) struct Origin {
    /// As shown to the user.
    path: Arc<str>,
    /// The file, where it was found.
    file: Option<Arc<Original>>,
    said: Said,
}

/// Looks up where rendered objects come from, for all files of a set that show signs of it.
pub fn mark_origins(set: &mut SourceSet, request: &Request) {
    let rendered: HashMap<&str, &Rendered> = request
        .targets
        .iter()
        .filter_map(|input| match input {
            Input::Rendered(rendered) => Some((&*rendered.name, &**rendered)),
            _ => None,
        })
        .collect();
    let mut files = Files::new(&request.working_directory);
    for file in &mut set.files {
        let trail = rendered.get(&*file.path).map(|one| &one.trail);
        if trail.is_some() || said::shows_signs(&file.text) {
            files.enter(file, trail);
            let origins = origins(file, trail, &mut files);
            file.set_origins(origins);
        }
    }
}

fn origins(file: &SourceFile, trail: Option<&Trail>, files: &mut Files<'_>) -> Origins {
    let once_more = once_more(trail);
    let mut found = Origins::new();
    for document in &file.documents {
        let comment = said::in_comment(document.segment.slice(&file.text));
        let objects = objects_of(document);
        for (number, object) in objects.iter().enumerate() {
            let named = said::name_of(*object);
            let said = once_more.get(&named).cloned();
            let said = said.or_else(|| said::in_object(*object));
            let origin = said
                .or_else(|| comment.clone())
                .and_then(|said| files.origin(file, trail, *object, said));
            found.extend(origin.map(|origin| ((document.index, number), origin)));
        }
        // What is not YAML has a comment all the same.
        if let (true, Some(said)) = (objects.is_empty(), comment) {
            let origin = files.origin_of_text(file, trail, said);
            found.extend(origin.map(|origin| ((document.index, 0), origin)));
        }
    }
    found
}

/// What the second build says, by the names of its objects.
fn once_more(trail: Option<&Trail>) -> HashMap<said::Name, Said> {
    let Some(Trail::Annotations {
        output: Some(output),
        ..
    }) = trail
    else {
        return HashMap::new();
    };
    let text = String::from_utf8_lossy(output);
    let build = SourceFile::new("".into(), text.into());
    let objects = build.documents.iter().flat_map(objects_of);
    objects
        .filter_map(|object| Some((said::name_of(object), said::in_object(object)?)))
        .collect()
}

impl SourceFile {
    /// Returns where what `span` covers comes from, if this is a rendered manifest that says so.
    #[must_use]
    pub fn source_of(&self, span: Span) -> Option<Source> {
        let origins = self.origins();
        if origins.is_empty() {
            return None;
        }
        let documents = &self.documents;
        let started = documents.partition_point(|document| document.segment.start <= span.start);
        let last = started.checked_sub(1)?;
        let (around, count) = self.objects().around(self, last, span);
        // A remark about a whole document need not be on its object.
        let number = around.map(|(number, _)| number);
        let number = number.or((count < 2).then_some(0))?;
        let origin = origins.get(&(last, number))?;
        Some(Source {
            path: Arc::clone(&origin.path),
            place: around.and_then(|(_, object)| origin.place(object, span)),
        })
    }
}

impl SourceSet {
    /// Returns where what `span` covers in the file shown as `path` comes from, if that is a
    /// rendered manifest that says so.
    #[must_use]
    pub fn source_of(&self, path: &str, span: Span) -> Option<Source> {
        self.file(path)?.source_of(span)
    }
}

impl Origin {
    /// Where the same field stands in the file.
    fn place(&self, object: NodeRef<'_>, span: Span) -> Option<(Position, Position)> {
        let original = self.file.as_deref()?;
        let file = &original.file;
        let hops = hops::to(object, span)?;
        let there = if self.said.is_template() && original.is_template {
            original.template()?.find(&file.text, &hops)?
        } else {
            place::find(original, object, &self.said, &hops)?
        };
        Some((file.position(there.start), file.position(there.end)))
    }
}

#[cfg(test)]
mod tests;
