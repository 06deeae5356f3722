//! Finds the origins of rendered objects.

use std::collections::BTreeMap;

use hashbrown::HashMap;

use crate::filesystem::FileSystem;
use crate::source::discover::request::{Input, Request};
use crate::source::model::file::SourceFile;
use crate::source::model::objects::objects_of;
use crate::source::model::rendered::{Rendered, Trail};
use crate::source::model::set::SourceSet;
use crate::source::origin::files::Files;
use crate::source::origin::hint;
use crate::source::origin::hint::OriginHint;
use crate::source::origin::origins::{Origin, Origins};

/// Finds the origins of rendered objects, in all files of a set that contain origin annotations or comments.
pub fn mark_origins(set: &mut SourceSet, request: &Request) {
    let rendered: HashMap<&str, &Rendered> = request
        .targets
        .iter()
        .chain(&request.context)
        .filter_map(|input| match input {
            Input::Rendered(rendered) => Some((&*rendered.name, &**rendered)),
            _ => None,
        })
        .collect();
    let mut files = Files::new(&request.working_directory, &request.filesystem);
    for file in &mut set.files {
        let trail = rendered.get(&*file.path).map(|rendered| &rendered.trail);
        if trail.is_some() || hint::may_have_origin(&file.text) {
            files.enter(file, trail);
            if let Some(origins) = Origins::new(origins(file, trail, &mut files)) {
                file.set_origins(origins);
            }
        }
    }
}

/// Returns whether an object of a file that no renderer of this run has written records an origin that can be found.
pub(in crate::source) fn finds_origin(file: &SourceFile, filesystem: &FileSystem) -> bool {
    if !hint::may_have_origin(&file.text) {
        return false;
    }
    let Some(working_directory) = file.directory.as_deref() else {
        return true;
    };
    let mut files = Files::new(working_directory, filesystem);
    files.enter(file, None);
    Origins::new(origins(file, None, &mut files)).is_some()
}

pub(in crate::source) fn origins(
    file: &SourceFile,
    trail: Option<&Trail>,
    files: &mut Files<'_>,
) -> BTreeMap<(usize, usize), Origin> {
    let second_build = hints_of_second_build(trail);
    let mut found = BTreeMap::new();
    for document in &file.documents {
        let comment = hint::in_comment(document.segment.slice(&file.text));
        let objects = objects_of(document);
        for (number, object) in objects.iter().enumerate() {
            let named = hint::name_of(*object);
            let origin = second_build
                .get(&named)
                .cloned()
                .or_else(|| hint::in_object(*object))
                .or_else(|| comment.clone())
                .and_then(|hint| files.origin(file, trail, *object, hint));
            found.extend(origin.map(|origin| ((document.index, number), origin)));
        }
        // A document that is not YAML can still have a comment.
        if let (true, Some(hint)) = (objects.is_empty(), comment) {
            let origin = files.origin_of_text(file, trail, hint);
            found.extend(origin.map(|origin| ((document.index, 0), origin)));
        }
    }
    found
}

/// Returns the origin annotations of the second build, by the names of its objects.
fn hints_of_second_build(trail: Option<&Trail>) -> HashMap<hint::Name, OriginHint> {
    let Some(Trail::Annotations {
        output: Some(output),
        ..
    }) = trail
    else {
        return HashMap::new();
    };
    let text = String::from_utf8_lossy(output);
    let build = SourceFile::new("".into(), text.into());
    build
        .documents
        .iter()
        .flat_map(objects_of)
        .filter_map(|object| Some((hint::name_of(object), hint::in_object(object)?)))
        .collect()
}
