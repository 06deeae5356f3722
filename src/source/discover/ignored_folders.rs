//! Folders that ignore files hide from the run.

use std::path::Path;
use std::sync::Arc;

use hashbrown::HashMap;

use crate::source::discover::folders::Folders;
use crate::source::discover::request::Request;
use crate::source::model::hidden_files::IgnoredFolder;
use crate::source::shown_path::shown_path;
use crate::yaml::Span;

/// Returns the hidden folders, each with the line that hides it.
pub(super) fn ignored_folders(request: &Request, folders: &Folders) -> Arc<[IgnoredFolder]> {
    let mut texts: HashMap<&Path, String> = HashMap::new();
    let files = &request.filesystem;
    let hidden = folders.hidden.iter().filter(|(path, _)| files.is_dir(path));
    hidden
        .map(|(path, rule)| {
            let text = texts.entry(&rule.file).or_insert_with(|| {
                let bytes = files
                    .read_resolved(&files.resolved_or_folded(&rule.file))
                    .unwrap_or_default();
                String::from_utf8_lossy(&bytes).into_owned()
            });
            let before = text.get(..line_of(text, &rule.pattern).start);
            IgnoredFolder {
                path: shown_path(path, &request.working_directory),
                ignore_file: shown_path(&rule.file, &request.working_directory),
                line: before.unwrap_or_default().matches('\n').count() + 1,
            }
        })
        .collect()
}

/// Returns the last line of an ignore file with this pattern, which is the one that takes effect.
pub(super) fn line_of(text: &str, pattern: &str) -> Span {
    let mut start = 0;
    let mut found = Span::empty(0);
    for line in text.split_inclusive('\n') {
        if line.trim_start_matches('\u{feff}').trim_end() == pattern {
            let at = start + (line.len() - line.trim_start_matches('\u{feff}').len());
            found = Span::new(at, at + pattern.len());
        }
        start += line.len();
    }
    found
}
