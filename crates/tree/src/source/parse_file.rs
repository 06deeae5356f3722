//! Splits and parses the text of files.

use std::sync::Arc;

use meshprobe_yaml::Tree;

use crate::source::classify::{mentions_manifest, read_document};
use crate::source::kustomization_name::is_kustomization;
use crate::source::limits::{FILE_VALUES, PARSED_VALUES, ValueCount};
use crate::source::model::document::Document;
use crate::source::model::fault::{Fault, FileLimit};
use crate::source::model::file::SourceFile;
use crate::source::split::segments;

impl SourceFile {
    /// Creates a file, and splits and parses its text.
    #[must_use]
    pub fn new(path: Arc<str>, text: Arc<str>) -> Self {
        let explicit = true;
        let mut file = Self::unparsed(path, text, explicit);
        file.parse();
        file
    }

    pub(in crate::source) fn parse(&mut self) {
        self.parse_within(&ValueCount::new(PARSED_VALUES));
    }

    /// Splits and parses the text, and adds its values to `count`. Sets the fault of the file if it has too many.
    pub(in crate::source) fn parse_within(&mut self, count: &ValueCount) {
        if count.is_exceeded() {
            // None of the files is kept: memory must not grow with their number.
            return self.exceed(FileLimit::AllValues);
        }
        match parsed(self) {
            Some((documents, values)) if count.add(values) => self.documents = documents,
            Some(_) => self.exceed(FileLimit::AllValues),
            None => self.exceed(FileLimit::Values),
        }
    }

    /// Drops the text and the documents of the file, which exceeds a limit.
    pub fn exceed(&mut self, limit: FileLimit) {
        self.fault = Some(self.too_large(self.text.as_bytes(), limit));
        self.documents = Vec::new();
        self.text = Arc::from("");
    }

    /// Returns the fault of the file with this text, which exceeds a limit.
    pub(in crate::source) fn too_large(&self, text: &[u8], limit: FileLimit) -> Fault {
        Fault::TooLarge {
            limit,
            kubernetes: mentions_manifest(text) || is_kustomization(&self.path),
        }
    }

    /// Returns this file with another text that contains the same objects. Keeps which documents are patches, and the
    /// origins of objects.
    #[must_use]
    pub fn with_text(&self, text: Arc<str>) -> Self {
        let mut file = self.replace_text(text);
        let patch = self.documents.iter().any(|document| document.patch);
        file.parse();
        file.set_patch(patch);
        file
    }
}

/// Parses the documents of a file, and returns them with the number of their values; `None` if there are too many.
fn parsed(file: &SourceFile) -> Option<(Vec<Document>, usize)> {
    let mut left = FILE_VALUES;
    let mut documents = Vec::new();
    for (index, segment) in segments(&file.text).into_iter().enumerate() {
        let document = read_document(file, index, segment, left);
        let values = document.any_tree().map_or(0, Tree::node_count);
        left = left.checked_sub(values + 1)?;
        if document.is_over_limit() {
            return None;
        }
        documents.push(document);
    }
    Some((documents, FILE_VALUES - left))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_beyond_the_limit_of_all_files_are_not_kept() {
        let count = ValueCount::new(8);
        let fault = |text: &str| {
            let mut file = SourceFile::unparsed(Arc::from("a.yaml"), Arc::from(text), true);
            file.parse_within(&count);
            assert_eq!(file.documents.is_empty(), file.fault.is_some());
            file.fault
        };
        let kubernetes = true;
        let limit = FileLimit::AllValues;
        assert_eq!(fault("a: b\n"), None);
        let pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {nodeName: b}\n";
        assert_eq!(fault(pod), Some(Fault::TooLarge { limit, kubernetes }));
        let kubernetes = false;
        assert_eq!(fault("a: b\n"), Some(Fault::TooLarge { limit, kubernetes }));
    }
}
