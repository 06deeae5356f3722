//! The documents that the client has opened: their texts and versions.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use gen_lsp_types::{TextDocumentContentChangeEvent, Uri};

use super::buffers::{Buffer, Buffers};
use super::diagnostics::is_valid;
use super::encoding::{Encoding, Lines};

/// The open documents.
#[derive(Debug, Default)]
pub(super) struct Documents {
    buffers: Arc<Buffers>,
}

impl Documents {
    /// Returns all open documents.
    pub(super) fn buffers(&self) -> Arc<Buffers> {
        Arc::clone(&self.buffers)
    }

    /// Opens a document. Returns its resolved path.
    pub(super) fn open(&mut self, uri: Uri, path: PathBuf, version: i32, text: String) -> PathBuf {
        let text = Arc::from(text);
        self.insert(Buffer {
            uri,
            path,
            version,
            checked: Arc::clone(&text),
            text,
        })
    }

    /// Applies changes to a document. Returns its resolved path; `None` if it is not open.
    ///
    /// While the text is not valid YAML, which is usual while it is typed, its last valid text is checked: the objects that
    /// are missing from it would otherwise change the findings of other files until the user has typed on.
    pub(super) fn change(
        &mut self,
        path: &Path,
        version: i32,
        changes: Vec<TextDocumentContentChangeEvent>,
        encoding: Encoding,
    ) -> Option<PathBuf> {
        let buffer = Arc::clone(self.buffers.get(path)?);
        let mut text = buffer.text.to_string();
        for change in changes {
            apply(&mut text, change, encoding);
        }
        let text = Arc::from(text);
        let mut buffer = Arc::unwrap_or_clone(buffer);
        buffer.version = version;
        if is_valid(path, &text) || !is_valid(path, &buffer.checked) {
            buffer.checked = Arc::clone(&text);
        }
        buffer.text = text;
        Some(self.insert(buffer))
    }

    /// Accepts the text of a document that was saved, valid or not. Returns its resolved path; `None` if it is not open.
    pub(super) fn save(&mut self, path: &Path) -> Option<PathBuf> {
        let mut buffer = Arc::unwrap_or_clone(Arc::clone(self.buffers.get(path)?));
        buffer.checked = Arc::clone(&buffer.text);
        Some(self.insert(buffer))
    }

    /// Closes a document: the file on disk applies again. Returns its resolved path; `None` if it is not open.
    pub(super) fn close(&mut self, path: &Path) -> Option<PathBuf> {
        Arc::make_mut(&mut self.buffers).remove(path)
    }

    fn insert(&mut self, buffer: Buffer) -> PathBuf {
        Arc::make_mut(&mut self.buffers).insert(buffer)
    }
}

/// Applies a change to a text. A range that ends before it starts is ignored.
fn apply(text: &mut String, change: TextDocumentContentChangeEvent, encoding: Encoding) {
    match change {
        TextDocumentContentChangeEvent::TextDocumentContentChangePartial(change) => {
            let span = Lines::new(text, encoding).span(change.range);
            if let Some(span) = span {
                text.replace_range(span.start..span.end, &change.text);
            }
        }
        TextDocumentContentChangeEvent::TextDocumentContentChangeWholeDocument(change) => {
            *text = change.text;
        }
    }
}

#[cfg(test)]
mod tests {
    use gen_lsp_types::{Position, Range, TextDocumentContentChangePartial};

    use super::*;

    fn partial(start: (u32, u32), end: (u32, u32), text: &str) -> TextDocumentContentChangeEvent {
        let position = |(line, character)| Position { line, character };
        let range = Range {
            start: position(start),
            end: position(end),
        };
        TextDocumentContentChangePartial::new(range, None, text.to_owned()).into()
    }

    #[test]
    fn changes_are_applied_one_after_the_other() {
        let mut documents = Documents::default();
        let path = Path::new("/none/a.yaml");
        documents.open(
            "file:///none/a.yaml".into(),
            path.into(),
            1,
            "a: ü\nb: 2\n".into(),
        );
        let changes = vec![
            partial((0, 3), (0, 4), "𝄞"),
            partial((0, 5), (1, 0), "!\n"),
            partial((1, 4), (1, 0), "reversed"),
            partial((7, 0), (9, 9), "c: 3\n"),
        ];
        documents.change(path, 2, changes, Encoding::Utf16);
        let buffers = documents.buffers();
        let buffer = buffers.get(path).unwrap();
        assert_eq!(&*buffer.text, "a: 𝄞!\nb: 2\nc: 3\n");
        assert_eq!(buffer.version, 2);
    }

    #[test]
    fn the_last_valid_text_is_checked_until_the_document_is_saved() {
        let mut documents = Documents::default();
        let path = Path::new("/none/a.yaml");
        let object = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n";
        documents.open("file:///none/a.yaml".into(), path.into(), 1, object.into());
        documents.change(
            path,
            2,
            vec![partial((3, 0), (3, 0), "spec: [")],
            Encoding::Utf8,
        );
        let buffers = documents.buffers();
        let buffer = buffers.get(path).unwrap();
        assert_eq!(&*buffer.checked, object);
        assert!(buffer.text.ends_with("spec: ["));
        documents.save(path);
        let buffers = documents.buffers();
        assert!(buffers.get(path).unwrap().checked.ends_with("spec: ["));
    }
}
