//! Parsed files of another state of the same tree, which a run uses instead of reading equal files again.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use hashbrown::HashMap;

use crate::filesystem::FileSystem;
use crate::git::ChangedPaths;
use crate::source::decode::text_is_template;
use crate::source::model::document::Document;
use crate::source::model::fault::Fault;
use crate::source::model::file::SourceFile;
use crate::source::model::set::SourceSet;

/// Parsed files of another state of the same tree, by displayed path.
#[derive(Debug)]
pub struct SharedFiles {
    files: HashMap<Arc<str>, SharedFile>,
    changed: ChangedPaths,
}

/// The parts of a file that depend only on its content and its path.
#[derive(Debug)]
struct SharedFile {
    real: PathBuf,
    explicit: bool,
    chart_template: bool,
    text: Arc<str>,
    documents: Vec<Document>,
    fault: Option<Fault>,
}

impl SharedFiles {
    /// Collects the files of a set that were read from disk. Files at paths that may differ are not used.
    #[must_use]
    pub fn new(set: &SourceSet, changed: ChangedPaths) -> Self {
        let is_equal = |real: &Path| !changed.contains(real);
        let files = set.files.iter().filter_map(|file| {
            let real = file.resolved_location().filter(|real| is_equal(real))?;
            Some((Arc::clone(&file.path), SharedFile::of(file, real)?))
        });
        Self {
            files: files.collect(),
            changed,
        }
    }

    /// Sets the text, the documents and the fault of a file whose other fields are set. Returns `false` if there is no
    /// equal file. Its values are not counted again.
    pub(in crate::source) fn fill(&self, file: &mut SourceFile, files: &FileSystem) -> bool {
        let (Some(known), Some(real)) = (self.files.get(&file.path), &file.real) else {
            return false;
        };
        let chart_template = text_is_template(&known.text, file.disk_path.as_deref(), files);
        let is_equal = known.real == *real
            && !self.changed.contains(real)
            && known.explicit == file.explicit
            && known.chart_template == chart_template;
        if is_equal {
            file.chart_template = chart_template;
            file.text = Arc::clone(&known.text);
            file.documents.clone_from(&known.documents);
            file.fault.clone_from(&known.fault);
        }
        is_equal
    }
}

impl SharedFile {
    /// Returns the shared parts of a file; `None` if another state of the tree may contain more than could be read here.
    fn of(file: &SourceFile, real: &Path) -> Option<Self> {
        let is_of_content = match &file.fault {
            None | Some(Fault::NotUtf8 { .. } | Fault::TooLarge { .. } | Fault::Panicked(_)) => {
                true
            }
            Some(
                Fault::Unreadable(_)
                | Fault::UnlistedIndex(_)
                | Fault::DanglingLink
                | Fault::NotRendered { .. },
            ) => false,
        };
        let mut documents = file.documents.clone();
        for document in &mut documents {
            // The kustomizations of each state determine which files are patches.
            document.patch = false;
        }
        is_of_content.then(|| Self {
            real: real.to_path_buf(),
            explicit: file.explicit,
            chart_template: file.chart_template,
            text: Arc::clone(&file.text),
            documents,
            fault: file.fault.clone(),
        })
    }
}
