//! The documents that the client has opened, as a layer over the files on disk.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use gen_lsp_types::{TextDocumentContentChangeEvent, Uri};
use hashbrown::HashMap;
use meshprobe_tree::filesystem::{
    Disk, Entry, FileSystem, Kind, OpenFile, PathProblem, ReadFiles, path_error,
};
use meshprobe_tree::source::{Content, SourceFile};

use super::encoding::{Encoding, Lines, uri_of};

/// The text of an open document.
#[derive(Clone, Debug)]
pub(super) struct Buffer {
    /// The URI that the client names.
    pub(super) uri: Uri,
    /// Its path.
    pub(super) path: PathBuf,
    /// The version of the document that the client has sent last.
    pub(super) version: i32,
    /// The text that the client shows.
    pub(super) text: Arc<str>,
    /// The text that is checked: the last valid one while the document is edited.
    pub(super) checked: Arc<str>,
}

/// The open documents, by resolved path.
#[derive(Clone, Debug, Default)]
pub(super) struct Buffers {
    by_real_path: HashMap<PathBuf, Arc<Buffer>>,
    real_paths: HashMap<PathBuf, PathBuf>,
}

impl Buffers {
    /// Adds or replaces a document. Returns its resolved path.
    pub(super) fn insert(&mut self, buffer: Buffer) -> PathBuf {
        let real = match self.real_paths.get(&buffer.path) {
            Some(real) => real.clone(),
            None => real_path(&buffer.path),
        };
        self.real_paths.insert(buffer.path.clone(), real.clone());
        self.by_real_path.insert(real.clone(), Arc::new(buffer));
        real
    }

    /// Removes the document with the path that the client names. Returns its resolved path.
    pub(super) fn remove(&mut self, path: &Path) -> Option<PathBuf> {
        let real = self.real_paths.remove(path)?;
        self.by_real_path.remove(&real);
        Some(real)
    }

    /// Returns the document with the path that the client names.
    pub(super) fn get(&self, path: &Path) -> Option<&Arc<Buffer>> {
        self.by_real_path.get(self.real_paths.get(path)?)
    }

    /// Returns the document at a resolved path, or at the path that the client names.
    fn at(&self, path: &Path) -> Option<&Arc<Buffer>> {
        self.by_real_path.get(path).or_else(|| self.get(path))
    }

    /// Returns the URI of a path: the one that the client names if the document is open.
    pub(super) fn uri(&self, path: &Path) -> Uri {
        self.get(path)
            .map_or_else(|| uri_of(path), |buffer| buffer.uri.clone())
    }

    /// Iterates over the open documents.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Arc<Buffer>> {
        self.by_real_path.values()
    }

    /// Returns the files on disk, with the open documents in their place.
    pub(super) fn over_disk(self: &Arc<Self>) -> FileSystem {
        FileSystem::new(OpenDocuments {
            buffers: Arc::clone(self),
        })
    }
}

/// Returns the path of a file without links; for a file that does not exist, that of its folder with its name.
pub(super) fn real_path(path: &Path) -> PathBuf {
    if let Ok(real) = Disk.canonical(path) {
        return real;
    }
    match (path.parent(), path.file_name()) {
        (Some(folder), Some(name)) => Disk
            .canonical(folder)
            .map_or_else(|_| path.to_path_buf(), |folder| folder.join(name)),
        _ => path.to_path_buf(),
    }
}

/// The files on disk, with open documents in their place.
#[derive(Debug)]
struct OpenDocuments {
    buffers: Arc<Buffers>,
}

impl OpenDocuments {
    /// Returns `found` unless it is an error and `path` is an open document, which the disk does not need to have.
    fn or_document<T>(
        &self,
        path: &Path,
        found: io::Result<T>,
        document: impl FnOnce(&Path) -> T,
    ) -> io::Result<T> {
        match found {
            Ok(found) => Ok(found),
            Err(error) => match self.buffers.at(path) {
                Some(buffer) => {
                    let real = self.buffers.real_paths.get(&buffer.path);
                    Ok(document(real.map_or(path, PathBuf::as_path)))
                }
                None => Err(error),
            },
        }
    }
}

impl ReadFiles for OpenDocuments {
    fn canonical(&self, path: &Path) -> io::Result<PathBuf> {
        self.or_document(path, Disk.canonical(path), Path::to_path_buf)
    }

    fn kind(&self, path: &Path) -> io::Result<Kind> {
        self.or_document(path, Disk.kind(path), |_| Kind::File)
    }

    fn symlink_kind(&self, path: &Path) -> io::Result<Kind> {
        self.or_document(path, Disk.symlink_kind(path), |_| Kind::File)
    }

    fn file_length(&self, path: &Path) -> io::Result<Option<u64>> {
        match self.buffers.at(path) {
            Some(buffer) => Ok(Some(buffer.checked.len() as u64)),
            None => Disk.file_length(path),
        }
    }

    fn read_link(&self, path: &Path) -> io::Result<PathBuf> {
        let problem = |_: &Path| Err(path_error(PathProblem::NotALink));
        match Disk.read_link(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.or_document(path, Err(error), problem)?
            }
            found => found,
        }
    }

    fn entries(&self, path: &Path) -> io::Result<Vec<io::Result<Entry>>> {
        let mut entries = Disk.entries(path)?;
        // Few documents are open, and almost all of them are on disk.
        let inside = |real: &&PathBuf| real.parent() == Some(path);
        let mut new: Vec<OsString> = self
            .buffers
            .real_paths
            .values()
            .filter(inside)
            .filter_map(|real| real.file_name().map(ToOwned::to_owned))
            .collect();
        new.sort();
        for name in new {
            let is_known =
                |entry: &io::Result<Entry>| entry.as_ref().is_ok_and(|entry| entry.name == name);
            if !entries.iter().any(is_known) {
                let kind = Kind::File;
                entries.push(Ok(Entry { name, kind }));
            }
        }
        Ok(entries)
    }

    fn open_file(&self, path: &Path) -> io::Result<OpenFile> {
        match self.buffers.by_real_path.get(path) {
            Some(buffer) => Ok(stored(buffer)),
            None => Disk.open_file(path),
        }
    }

    fn open_following(&self, path: &Path) -> io::Result<OpenFile> {
        if let Some(buffer) = self.buffers.at(path) {
            return Ok(stored(buffer));
        }
        match Disk.canonical(path) {
            Ok(real) => match self.buffers.by_real_path.get(&real) {
                Some(buffer) => Ok(stored(buffer)),
                None => Disk.open_following(path),
            },
            Err(_) => Disk.open_following(path),
        }
    }
}

fn stored(buffer: &Arc<Buffer>) -> OpenFile {
    let text = Arc::clone(&buffer.checked);
    OpenFile::stored(text.len() as u64, move |_| Ok(text.as_bytes().to_vec()))
}

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

/// Returns whether all documents of a text are valid YAML, or are not expected to be.
fn is_valid(path: &Path, text: &Arc<str>) -> bool {
    let file = SourceFile::new(path.to_string_lossy().into(), Arc::clone(text));
    let is_broken = |content: &Content| matches!(content, Content::Broken { .. });
    !file
        .documents
        .iter()
        .any(|document| is_broken(&document.content))
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
