//! Finds the files of a run, and reads them.

use std::borrow::Cow;
use std::ffi::OsString;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, OnceLock};

use hashbrown::HashMap;
use hashbrown::hash_map::Entry;

use crate::filesystem::Kind;

use super::boundary::resolved_as_named;
use super::decode::take_text;
use super::escaped_name::escaped_name;
use super::file::{Fault, Role, SourceFile};
use super::folders::Folders;
use super::kustomization::{folded, identity};
use super::linked_kustomization::link_place;
use super::links::Links;
use super::memory_budget::{MemoryBudget, Turn};
use super::origin::relative_path;
use super::place::without_detours;
use super::read::{read_in_turn, read_pipe_in_turn};
use super::rendered::Rendered;
use super::walk::{Met, Root, WalkOptions, walk};

/// What the user asks to read.
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
        /// Where to take it to lie, if anywhere.
        lies_at: Option<PathBuf>,
        /// What was read.
        bytes: Arc<[u8]>,
    },
    /// What a renderer made, run by the caller.
    Rendered(Arc<Rendered>),
}

/// Everything that decides which files are read.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// What is judged.
    pub targets: Vec<Input>,
    /// What is read for facts only.
    pub context: Vec<Input>,
    /// The directory that relative paths start from.
    pub working_directory: PathBuf,
    /// How directories are walked.
    pub walk: WalkOptions,
    /// What renderings of kustomizations may hold in memory: bytes; `None` for what suits the files.
    pub max_rendered: Option<usize>,
    /// What all files may hold in memory when they are parsed: bytes; `None` for the default.
    pub max_parsed: Option<usize>,
}

/// A file that is to be read.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// As shown to the user.
    pub path: Arc<str>,
    role: Role,
    explicit: bool,
    origin: Origin,
    /// The one spelling of where it lies.
    identity: PathBuf,
    /// The place of a linked kustomization, which is read in the folder of the link.
    link: Option<PathBuf>,
}

#[derive(Clone, Debug)]
enum Origin {
    /// A regular file, opened by its resolved path.
    Disk(PathBuf),
    /// A pipe that the user names, and what was read from it: the files of a run may be read twice.
    Pipe(PathBuf, OnceLock<Vec<u8>>),
    Bytes(Arc<[u8]>, Option<PathBuf>),
    Fault(Fault),
    Rendered(Arc<Rendered>),
}

/// Lists the files of a run, sorted by path, each once, whatever names lead to it: under the
/// first of them, and as target where it is both target and context. `folders` is told which folders
/// were listed.
#[must_use]
pub fn find(request: &Request, folders: &mut Folders) -> Vec<Candidate> {
    let mut found: Vec<Candidate> = Vec::new();
    let mut known: HashMap<OsString, usize> = HashMap::new();
    let mut links = Links::default();
    let inputs = [
        (Role::Target, &request.targets),
        (Role::Context, &request.context),
    ];
    for (role, inputs) in inputs {
        let inputs = inputs.iter();
        for candidate in inputs.flat_map(|input| expand(input, role, request, folders)) {
            match known.entry(candidate.key().as_os_str().to_os_string()) {
                Entry::Vacant(entry) => {
                    entry.insert(found.len());
                    found.push(candidate);
                }
                Entry::Occupied(entry) => {
                    if let Some(known) = found.get_mut(*entry.get()) {
                        links.add(candidate.path.to_string(), known.path.to_string());
                        known.explicit |= candidate.explicit && role == known.role;
                    }
                }
            }
        }
    }
    folders.links.extend(links);
    found.sort_by(|a, b| a.path.cmp(&b.path));
    // Different files have different paths; standard input may have the name of a file.
    found.dedup_by(|a, b| a.path == b.path);
    folders.links.reverse(|link| {
        let inside = format!("{link}/");
        let first = found.partition_point(|candidate| *candidate.path < *inside);
        let first = found.get(first);
        first.is_some_and(|candidate| candidate.path.starts_with(&inside))
    });
    found
}

fn expand(input: &Input, role: Role, request: &Request, folders: &mut Folders) -> Vec<Candidate> {
    let path = match input {
        Input::Path(path) | Input::Resolved(path) => path,
        Input::Bytes {
            name,
            bytes,
            lies_at,
        } => {
            let named = request.working_directory.join(&**name);
            return vec![Candidate {
                path: match lies_at {
                    Some(place) => shown_path(place, &request.working_directory).into(),
                    None => Arc::clone(name),
                },
                role,
                explicit: true,
                origin: Origin::Bytes(Arc::clone(bytes), lies_at.clone()),
                identity: identity(lies_at.as_ref().unwrap_or(&named)),
                link: None,
            }];
        }
        Input::Rendered(rendered) => {
            return vec![Candidate {
                path: Arc::clone(&rendered.name),
                role,
                explicit: true,
                origin: Origin::Rendered(Arc::clone(rendered)),
                identity: request.working_directory.join(&*rendered.name),
                link: None,
            }];
        }
    };
    let working_directory = request.working_directory.clone();
    let named = working_directory.join(path);
    let full = without_detours(&named);
    let shown = shown_path(&full, &working_directory);
    let real = match input {
        Input::Resolved(real) => Ok(real.clone()),
        _ => resolved_as_named(&named),
    };
    if full.is_dir()
        && let Ok(real) = &real
    {
        let root = Root::resolved(&full, real.clone(), &working_directory);
        return expand_directory(&root, role, request, folders);
    }
    let options = &request.walk;
    if options.force_exclude && options.exclude.excludes(&shown, false) {
        return Vec::new();
    }
    let link = link_place(&full).filter(|_| real.is_ok());
    let (identity, origin) = match real {
        Ok(real) => (real, explicit(input, full)),
        Err(link) => {
            let link = shown_path(&link, &working_directory);
            let fault = format!("the link {link} leads out of the repository");
            (identity(&full), Origin::Fault(Fault::Unreadable(fault)))
        }
    };
    vec![Candidate {
        path: shown.into(),
        role,
        explicit: true,
        origin,
        identity,
        link,
    }]
}

fn expand_directory(
    root: &Root,
    role: Role,
    request: &Request,
    folders: &mut Folders,
) -> Vec<Candidate> {
    let base = &request.working_directory;
    if request.walk.force_exclude
        && request
            .walk
            .exclude
            .excludes(&shown_path(&root.path, base), true)
    {
        return Vec::new();
    }
    let shown = |path: &Path| shown_path(path, base);
    let met = walk(root, &request.walk, shown, folders);
    // The name of a file comes before those of links to it.
    let is_file = |met: &Met| matches!(met, Met::File(_));
    let (files, mut others): (Vec<Met>, Vec<Met>) = met.into_iter().partition(is_file);
    others.sort();
    let candidate = |met| {
        let mut link = None;
        let (path, identity, origin) = match met {
            Met::File(path) => (path.clone(), root.real(&path), Origin::Disk(path)),
            // Not resolved again: the link may lead elsewhere by now.
            Met::Link(path, real) => {
                link = link_place(&path);
                (path.clone(), real, Origin::Disk(path))
            }
            Met::DanglingLink(path) => {
                let real = root.real(&path);
                (path, real, Origin::Fault(Fault::DanglingLink))
            }
            Met::Unopened(path, reason) | Met::Fault(path, reason) => {
                let real = root.real(&path);
                (path, real, Origin::Fault(Fault::Unreadable(reason)))
            }
            Met::FolderLink(path, real) => {
                if let Some(real) = real {
                    let named = root.named(&real);
                    let target = named
                        .map_or_else(|| shown_path(&real, &identity(base)), |named| shown(&named));
                    folders.links.add(shown(&path), target);
                }
                return None;
            }
            Met::Hidden(real, hider) => {
                folders.hidden.push((real, hider));
                return None;
            }
        };
        let explicit = matches!(origin, Origin::Fault(_)) && path == root.path;
        Some(Candidate {
            path: shown(&path).into(),
            role,
            explicit,
            origin,
            identity,
            link,
        })
    };
    files
        .into_iter()
        .chain(others)
        .filter_map(candidate)
        .collect()
}

/// How a path that was named is read.
fn explicit(input: &Input, path: PathBuf) -> Origin {
    let kind = match std::fs::metadata(&path) {
        Ok(metadata) => Kind::from(metadata.file_type()),
        Err(error) if error.kind() == io::ErrorKind::NotFound && path.is_symlink() => {
            return Origin::Fault(Fault::DanglingLink);
        }
        Err(error) => return Origin::Fault(Fault::Unreadable(reason(&error))),
    };
    // A pipe is fine where the user names it: `meshprobe check <(kustomize build .)`.
    if kind == Kind::Pipe && matches!(input, Input::Path(_)) {
        return Origin::Pipe(path, OnceLock::new());
    }
    match kind.special() {
        Some(what) => Origin::Fault(Fault::Unreadable(format!("it is {what}"))),
        None => Origin::Disk(path),
    }
}

impl Candidate {
    /// Returns the candidate for a file that lies at `place`, its one spelling.
    pub(super) fn on_disk(path: Arc<str>, role: Role, place: PathBuf) -> Self {
        Self {
            path,
            role,
            explicit: false,
            origin: Origin::Disk(place.clone()),
            identity: place,
            link: None,
        }
    }

    /// Returns the candidate for the kustomization at `link`, whose text is that of this one.
    pub(super) fn linked_from(self, link: PathBuf) -> Self {
        Self {
            origin: Origin::Disk(link.clone()),
            link: Some(link),
            ..self
        }
    }

    /// Returns the place that no two files of a run share.
    fn key(&self) -> &Path {
        self.link.as_deref().unwrap_or(&self.identity)
    }

    /// Reads, splits and parses the file; what goes wrong becomes a fault of it.
    #[must_use]
    pub fn read(&self) -> SourceFile {
        self.read_within(&MemoryBudget::unlimited())
    }

    /// Reads the file as [`Candidate::read`] does; it is a fault if `budget` has no room for what is parsed.
    #[must_use]
    pub fn read_within(&self, budget: &MemoryBudget) -> SourceFile {
        let (location, lies_at) = match &self.origin {
            Origin::Bytes(_, lies_at) => (None, lies_at.clone()),
            Origin::Disk(path) | Origin::Pipe(path, _) => (Some(path.clone()), Some(path.clone())),
            Origin::Fault(_) | Origin::Rendered(_) => (None, None),
        };
        let mut file = self.without_text();
        file.location = location;
        file.real = lies_at.is_some().then(|| self.identity.clone());
        file.lies_at = lies_at;
        match self.bytes(budget) {
            Ok((bytes, _turn)) => take_text(&mut file, bytes, budget),
            Err(fault) => file.fault = Some(fault),
        }
        file
    }

    /// Reads the bytes when it is their turn, which goes on until they are parsed.
    fn bytes<'s>(&'s self, budget: &'s MemoryBudget) -> Result<(Cow<'s, [u8]>, Turn<'s>), Fault> {
        let in_memory = |bytes: &'s [u8]| {
            let turn = budget.wait_for_turn(bytes.len() as u64);
            Ok((Cow::Borrowed(bytes), turn))
        };
        let unreadable = |error: io::Error| Fault::Unreadable(reason(&error));
        match &self.origin {
            Origin::Bytes(bytes, _) => in_memory(bytes),
            Origin::Rendered(rendered) => in_memory(output(rendered)?),
            Origin::Fault(fault) => Err(fault.clone()),
            Origin::Disk(_) => {
                let read = read_in_turn(&self.identity, budget);
                let (bytes, turn) = read.map_err(unreadable)?;
                Ok((Cow::Owned(bytes), turn))
            }
            Origin::Pipe(path, known) => {
                if let Some(bytes) = known.get() {
                    return in_memory(bytes);
                }
                let (bytes, turn) = read_pipe_in_turn(path, budget).map_err(unreadable)?;
                Ok((Cow::Borrowed(known.get_or_init(|| bytes)), turn))
            }
        }
    }

    /// Returns the file without text, for one that could not be read.
    #[must_use]
    pub fn without_text(&self) -> SourceFile {
        let text = Arc::from("");
        let mut file = SourceFile::unparsed(Arc::clone(&self.path), text, self.explicit);
        file.role = self.role;
        file.link.clone_from(&self.link);
        file.rendered = matches!(self.origin, Origin::Rendered(_));
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

/// Why a path that does not exist cannot be read.
pub(crate) const NO_SUCH_FILE: &str = "no such file or directory";

/// Says in plain words why an operation on a file failed.
#[must_use]
pub fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => NO_SUCH_FILE.to_owned(),
        io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        _ => without_number(&error.to_string()).to_owned(),
    }
}

/// The number of an error says nothing to users.
fn without_number(message: &str) -> &str {
    message
        .split_once(" (os error")
        .map_or(message, |(words, _)| words)
}

/// Returns a path as users and reports see it, each place in one way: relative to the working
/// directory, with `/`; absolute where both have no folder in common.
#[must_use]
pub fn shown_path(path: &Path, working_directory: &Path) -> String {
    if let Some(shown) = shown_below(path, working_directory) {
        return shown;
    }
    let full = folded(&working_directory.join(path));
    let base = folded(working_directory);
    // `..` is of use only from a place that both have in common.
    if top(&full).is_some() && top(&full) == top(&base) {
        return relative_path(&full, &base);
    }
    let below = full.strip_prefix(&base).unwrap_or(&full);
    let mut shown = String::new();
    for component in below.components() {
        match component {
            Component::CurDir => continue,
            Component::RootDir => {
                shown.push('/');
                continue;
            }
            Component::Prefix(disk) => {
                // Only Windows has them: `C:`, or `\\server\share`.
                shown.push_str(&escaped_name(disk.as_os_str()).replace('\\', "/"));
                continue;
            }
            _ => {}
        }
        if !shown.is_empty() && !shown.ends_with('/') {
            shown.push('/');
        }
        shown.push_str(&escaped_name(component.as_os_str()));
    }
    if shown.is_empty() {
        ".".to_owned()
    } else {
        shown
    }
}

/// What most paths are: written out from the working directory down.
fn shown_below(path: &Path, working_directory: &Path) -> Option<String> {
    let below = path.strip_prefix(working_directory).ok()?;
    let mut shown = String::with_capacity(below.as_os_str().len());
    for component in below.components() {
        let Component::Normal(name) = component else {
            return None;
        };
        if !shown.is_empty() {
            shown.push('/');
        }
        shown.push_str(&escaped_name(name));
    }
    (!shown.is_empty()).then_some(shown)
}

/// Returns the folder right below the root that a path lies in, and on Windows the disk.
fn top(path: &Path) -> Option<(Option<Component<'_>>, Component<'_>)> {
    let mut parts = path.components();
    let disk = parts.clone().next();
    let disk = disk.filter(|part| matches!(part, Component::Prefix(_)));
    let folder = parts.find(|part| matches!(part, Component::Normal(_)))?;
    Some((disk, folder))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_shown_relative() {
        let base = Path::new("/w/repo");
        for (path, shown) in [
            ("./a/./b.yaml", "a/b.yaml"),
            ("/w/repo/a.yaml", "a.yaml"),
            ("/w/other/a.yaml", "../other/a.yaml"),
            ("../a.yaml", "../a.yaml"),
            ("../repo/a.yaml", "a.yaml"),
            ("b/../a.yaml", "a.yaml"),
            ("/v/a.yaml", "/v/a.yaml"),
            (".", "."),
            ("/w/repo", "."),
            ("/w/repo/a//b/../c.yaml", "a/c.yaml"),
            ("/w/repo/../repo/a.yaml", "a.yaml"),
        ] {
            assert_eq!(shown_path(Path::new(path), base), shown);
        }
    }

    #[cfg(windows)]
    #[test]
    fn paths_on_other_disks_are_shown_whole() {
        let base = Path::new(r"C:\w\repo");
        for (path, shown) in [
            (r"a\b.yaml", "a/b.yaml"),
            (r"C:\w\other\a.yaml", "../other/a.yaml"),
            (r"D:\w\a.yaml", "D:/w/a.yaml"),
            (r"\\server\share\a.yaml", "//server/share/a.yaml"),
        ] {
            assert_eq!(shown_path(Path::new(path), base), shown);
        }
    }
}
