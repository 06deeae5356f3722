//! Files to read.
//!
//! Input of a run, and parameters that determine which files are read.

use std::borrow::Cow;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use super::walk_options::WalkOptions;
use crate::filesystem::FileSystem;
use crate::git::lfs_object;
use crate::source::boundary::Tracked;
use crate::source::limits::{FILE_SIZE, PARSED_VALUES, ValueCount};
use crate::source::model::document::{Fault, FileLimit};
use crate::source::model::file::{Role, SourceFile};
use crate::source::model::objects::Links;
use crate::source::model::rendered::Rendered;
use crate::source::parse_file::SharedFiles;
use crate::source::read::{decode, io_error_reason, take_text};

/// File to read.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// The path as shown to the user.
    pub path: Arc<str>,
    pub(in crate::source::discover) role: Role,
    pub(in crate::source::discover) explicit: bool,
    pub(in crate::source::discover) read_from: ReadFrom,
    /// Its resolved path.
    pub(in crate::source::discover) identity: PathBuf,
    /// For a linked kustomization: the path of the link, whose folder the kustomization refers to.
    pub(in crate::source::discover) link: Option<PathBuf>,
    /// Whether the file is text without documents.
    pub(in crate::source::discover) is_text: bool,
}

#[derive(Clone, Debug)]
pub(in crate::source) enum ReadFrom {
    /// A regular file, opened by its resolved path.
    Disk(PathBuf),
    /// A pipe that the user names, with its content: the files of a run may be read twice.
    Pipe(PathBuf, OnceLock<Vec<u8>>),
    Bytes(Arc<[u8]>, Option<PathBuf>),
    Fault(Fault),
    Rendered(Arc<Rendered>),
}

impl Candidate {
    /// Creates the candidate for a file with the resolved path `place`.
    pub(in crate::source) fn on_disk(path: Arc<str>, role: Role, place: PathBuf) -> Self {
        Self {
            path,
            role,
            explicit: false,
            read_from: ReadFrom::Disk(place.clone()),
            identity: place,
            link: None,
            is_text: false,
        }
    }

    /// Returns the candidate for a file whose text is not split into documents.
    pub(in crate::source::discover) fn into_text(self) -> Self {
        Self {
            is_text: true,
            ..self
        }
    }

    /// Returns the candidate for the kustomization at `link`, a link to this file.
    pub(in crate::source) fn linked_from(self, link: PathBuf) -> Self {
        Self {
            read_from: ReadFrom::Disk(link.clone()),
            link: Some(link),
            ..self
        }
    }

    /// Returns whether the file is only read because it is in the repository of another one.
    #[must_use]
    pub fn is_surrounding(&self) -> bool {
        self.role == Role::Repository
    }

    /// Returns the path that identifies the file in the run.
    pub(in crate::source::discover) fn key(&self) -> &Path {
        self.link.as_deref().unwrap_or(&self.identity)
    }

    /// Reads, splits and parses the file. An error becomes the fault of the file.
    #[must_use]
    pub fn read(&self, files: &FileSystem) -> SourceFile {
        self.read_sharing(files, None, &ValueCount::new(PARSED_VALUES))
    }

    /// Reads, splits and parses the file, and adds its values to `count`. An error becomes the fault of the file.
    #[must_use]
    pub fn read_within(&self, request: &Request, count: &ValueCount) -> SourceFile {
        self.read_sharing(&request.filesystem, request.shared.as_deref(), count)
    }

    fn read_sharing(
        &self,
        files: &FileSystem,
        shared: Option<&SharedFiles>,
        count: &ValueCount,
    ) -> SourceFile {
        let (location, disk_path) = match &self.read_from {
            ReadFrom::Bytes(_, disk_path) => (None, disk_path.clone()),
            ReadFrom::Disk(path) | ReadFrom::Pipe(path, _) => {
                (Some(path.clone()), Some(path.clone()))
            }
            ReadFrom::Fault(_) | ReadFrom::Rendered(_) => (None, None),
        };
        let mut file = self.without_text();
        file.location = location;
        file.real = disk_path.is_some().then(|| self.identity.clone());
        file.disk_path = disk_path;
        if self.is_text {
            let bytes = self.bytes(files);
            file.text = bytes.map_or_else(|_| Arc::from(""), |bytes| decode(&bytes).0);
            return file;
        }
        let is_on_disk = matches!(self.read_from, ReadFrom::Disk(_));
        if let Some(shared) = shared.filter(|_| is_on_disk)
            && shared.fill(&mut file, files)
        {
            return file;
        }
        match self.bytes(files) {
            Ok(bytes) if is_on_disk && bytes.len() as u64 > FILE_SIZE => {
                file.fault = Some(file.too_large(&bytes, FileLimit::Size));
            }
            Ok(bytes) => take_text(&mut file, bytes, files, count),
            Err(fault) => file.fault = Some(fault),
        }
        file
    }

    /// Reads the bytes of the file; of a file that is too large, only its start.
    fn bytes(&self, files: &FileSystem) -> Result<Cow<'_, [u8]>, Fault> {
        let unreadable = |error: io::Error| Fault::Unreadable(io_error_reason(&error));
        match &self.read_from {
            ReadFrom::Bytes(bytes, _) => Ok(Cow::Borrowed(bytes)),
            ReadFrom::Rendered(rendered) => output(rendered).map(Cow::Borrowed),
            ReadFrom::Fault(fault) => Err(fault.clone()),
            ReadFrom::Disk(_) => {
                let bytes = files.read_start(&self.identity).map_err(unreadable)?;
                if let Some(object) = lfs_object(&bytes) {
                    return Err(Fault::Unreadable(format!(
                        "it is a pointer of Git LFS to {object}; run `git lfs pull` to get the file"
                    )));
                }
                Ok(Cow::Owned(bytes))
            }
            ReadFrom::Pipe(path, known) => {
                if let Some(bytes) = known.get() {
                    return Ok(Cow::Borrowed(bytes));
                }
                let bytes = files.read_file(path).map_err(unreadable)?;
                Ok(Cow::Borrowed(known.get_or_init(|| bytes)))
            }
        }
    }

    /// Returns the file without text, for a file that could not be read.
    #[must_use]
    pub fn without_text(&self) -> SourceFile {
        let text = Arc::from("");
        let mut file = SourceFile::unparsed(Arc::clone(&self.path), text, self.explicit);
        file.role = self.role;
        file.link.clone_from(&self.link);
        if let ReadFrom::Rendered(rendered) = &self.read_from {
            file.rendered = true;
            file.rendered_chart.clone_from(&rendered.chart);
        }
        file
    }
}

fn output(rendered: &Rendered) -> Result<&[u8], Fault> {
    match &rendered.outcome {
        Ok(bytes) => Ok(bytes),
        Err(reason) => Err(Fault::NotRendered {
            reason: reason.clone(),
            asked: Arc::clone(&rendered.asked),
        }),
    }
}

/// Input of a run.
#[derive(Clone, Debug)]
pub enum Input {
    /// A file or a directory that the user names.
    Path(PathBuf),
    /// A file or a directory that a file of the tree names, by its resolved path.
    Resolved(PathBuf),
    /// Standard input, read by the caller.
    Bytes {
        /// The path to show.
        name: Arc<str>,
        /// The path that the user gives for it, if any.
        disk_path: Option<PathBuf>,
        /// The content.
        bytes: Arc<[u8]>,
    },
    /// Output of a renderer that the caller ran.
    Rendered(Arc<Rendered>),
}

/// Parameters that determine which files are read.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// Inputs that are checked.
    pub targets: Vec<Input>,
    /// Inputs that are read only for facts.
    pub context: Vec<Input>,
    /// Folders that contain inputs, and whose other files are read only for facts.
    pub roots: Vec<PathBuf>,
    /// Folders that are not read as a part of [`Request::roots`].
    pub omitted: Vec<PathBuf>,
    /// The files to read; by default those on disk.
    pub filesystem: FileSystem,
    /// Parsed files of another state of the tree, which are used instead of reading equal files again.
    pub shared: Option<Arc<SharedFiles>>,
    /// The directory to which relative paths refer.
    pub working_directory: PathBuf,
    /// Options for the walk of directories.
    pub walk: WalkOptions,
}

/// What the walks of a run found besides files to read.
#[derive(Debug, Default)]
pub struct Folders {
    /// The files that the run reads.
    pub(in crate::source) files: FileSystem,
    /// What git tracks.
    pub(super) tracked: Tracked,
    /// The scripts that the walk found.
    pub(in crate::source) scripts: Vec<Candidate>,
    /// The links that the walk found and that lead to files of the run.
    pub links: Links,
}

impl Folders {
    /// Creates an empty value for the files of a run.
    #[must_use]
    pub fn of(files: FileSystem) -> Self {
        Self {
            files,
            ..Self::default()
        }
    }
}
