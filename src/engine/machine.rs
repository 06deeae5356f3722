//! Makes files for virtual machines, as text.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::context::Context;
use crate::context::render::render_relevant;
use crate::filesystem::Kind;
use crate::finding::{Finding, Label, Severity};
use crate::predict;
use crate::rewrite::{self, Made};
use crate::settings::Settings;
use crate::source::{Role, SourceFile, SourceSet, reason};
use crate::yaml::Span;

use super::check::settled;
use super::data::Data;
use super::emit::text_of;
use super::guard::judge;
use super::notices::EDIT_REFUSED;
use super::output_folder::OutputFolder;
use super::problems::problems;
use super::replace::{Like, replace};
use super::write::{WriteFailure, is_read};

/// A file that was made; nothing is written yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MadeFile {
    /// The namespace of the group; empty where nothing says one.
    pub namespace: String,
    /// The name of the group.
    pub name: String,
    /// The text.
    pub text: String,
}

/// What was made for virtual machines.
#[derive(Clone, Debug, Default)]
pub struct MadeFiles {
    /// Sorted by namespace and name.
    pub files: Vec<MadeFile>,
    /// For how many objects nothing was made, though it was asked for.
    pub refused: usize,
    /// What was refused and why, notes, and what could not be read.
    pub findings: Vec<Finding>,
}

/// Makes `mesh.yaml` for the machines of every `WorkloadGroup`.
#[must_use]
pub fn mesh_yamls(set: &SourceSet, settings: &Settings) -> MadeFiles {
    let judged = judge(set, |set| {
        let renderings = render_relevant(set);
        let made = rewrite::mesh_yamls(&Context::new(set, &renderings, settings));
        (made.made, made.refused, made.findings)
    });
    let (made, refused, mut findings) = judged.value;
    findings.extend(judged.faults);
    findings.extend(problems(set));
    MadeFiles {
        refused,
        ..finished(set, made, findings, settings)
    }
}

/// Makes a `WorkloadGroup` for every workload with a readinessProbe.
#[must_use]
pub fn workload_groups(set: &SourceSet, settings: &Settings) -> MadeFiles {
    let judged = judge(set, |set| {
        let renderings = render_relevant(set);
        let context = Context::new(set, &renderings, settings);
        let made = rewrite::workload_groups(&context, &predict::predict_all(&context));
        (made.made, made.refused, made.findings)
    });
    let (made, refused, mut findings) = judged.value;
    findings.extend(judged.faults);
    findings.extend(problems(set));
    MadeFiles {
        refused,
        ..finished(set, made, findings, settings)
    }
}

/// Returns the files as context of the groups that were made of them, to make more of these.
#[must_use]
pub fn with_groups(set: &SourceSet, groups: &[MadeFile]) -> SourceSet {
    let mut files = set.files.clone();
    for file in &mut files {
        file.role = Role::Context;
    }
    let texts: Vec<&str> = groups.iter().map(|group| group.text.as_str()).collect();
    let path = Arc::from("WorkloadGroups made of workloads");
    files.push(SourceFile::new(path, texts.join("---\n").into()));
    SourceSet::new(files)
}

fn finished(
    set: &SourceSet,
    made: Vec<Made>,
    mut findings: Vec<Finding>,
    settings: &Settings,
) -> MadeFiles {
    let mut files = Vec::new();
    for one in made {
        match text_of(&one.value) {
            Ok(text) => files.push(MadeFile {
                namespace: one.namespace,
                name: one.name,
                text,
            }),
            Err(reason) => findings.push(unwritable(&one.name, &reason)),
        }
    }
    files.sort_by(|a, b| (&a.namespace, &a.name, &a.text).cmp(&(&b.namespace, &b.name, &b.text)));
    files.dedup();
    MadeFiles {
        files,
        refused: 0,
        findings: settled(set, findings, settings),
    }
}

fn unwritable(name: &str, reason: &str) -> Finding {
    let label = Label {
        path: Arc::from(name),
        span: Span::empty(0),
        message: String::new(),
    };
    let message = format!("nothing was written for `{name}`: {reason}");
    Finding::new(EDIT_REFUSED, Severity::Error, label, message)
}

/// Writes files into a folder, seen from the working directory: where one was asked for as
/// `DIR/FILE`, else as `DIR/NAMESPACE/NAME/FILE`, whatever became of the others. Returns what could
/// not be written.
///
/// # Errors
/// In words, before anything is written, where two files would have one place, or would take that
/// of a file of `set`; where a link of the repository leads the folder out of it.
pub fn write_made(
    made: &MadeFiles,
    file: &str,
    working_directory: &Path,
    directory: &Path,
    set: &SourceSet,
) -> Result<Vec<WriteFailure>, String> {
    let output = OutputFolder::find(&working_directory.join(directory))
        .map_err(|link| format!("the link {} leads out of the repository", link.display()))?;
    let is_alone = made.files.len() + made.refused == 1;
    let made = &made.files;
    let place = |one: &MadeFile| -> PathBuf {
        if is_alone {
            return PathBuf::from(file);
        }
        let namespace = if one.namespace.is_empty() {
            "default"
        } else {
            &one.namespace
        };
        let folders = Path::new(&folder(namespace)).join(folder(&one.name));
        folders.join(file)
    };
    let mut places = BTreeSet::new();
    for one in made {
        let place = place(one);
        let shown = directory.join(&place);
        if is_read(set, &output.place(&place)) {
            return Err(format!("{} was read in this run", shown.display()));
        }
        if !places.insert(place) {
            return Err(format!("{} would be written twice", shown.display()));
        }
    }
    let written = made
        .iter()
        .map(|one| (place(one), write_one(&output, &place(one), &one.text)));
    let failed = written.filter_map(|(place, result)| {
        Some(WriteFailure {
            path: directory
                .join(place)
                .to_string_lossy()
                .replace(std::path::MAIN_SEPARATOR, "/")
                .into(),
            reason: result.err()?,
        })
    });
    Ok(failed.collect())
}

/// Names come out of manifests: they must not lead anywhere else.
fn folder(name: &str) -> String {
    let plain = name.replace(['/', '\\', ':', '\0'], "_");
    if plain.trim_matches('.').is_empty() {
        "_".to_owned()
    } else {
        plain
    }
}

fn write_one(output: &OutputFolder, below: &Path, text: &str) -> Result<(), String> {
    let write = || {
        let (folder, name) = output.folder_of(below)?;
        let original = match folder.kind(&name)? {
            Some(Kind::File) => Some(folder.open_file(&name)?),
            _ => None,
        };
        let like = original.as_ref().map_or(Like::New, Like::File);
        replace(&folder, &name, &Data::Bytes(text.as_bytes()), like)
    };
    write().map_err(|error: std::io::Error| reason(&error))
}
