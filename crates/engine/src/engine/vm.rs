//! Generates files for virtual machines.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use meshprobe_deploy::gitops::render_relevant;
use meshprobe_mesh::finding::{Finding, Label, Severity};
use meshprobe_mesh::settings::Settings;
use meshprobe_predict::context::Context;
use meshprobe_rules::rewrite;
use meshprobe_rules::rewrite::GeneratedDocument;
use meshprobe_rules::rules::notices::EDIT_REFUSED;
use meshprobe_tree::source::{
    SourceSet, canonical, io_error_reason, resolved_as_named, shown_path,
};
use meshprobe_yaml::Span;

use super::emit::text_of;
use super::input_diagnostics::input_diagnostics;
use super::outcome::with_levels;
use super::panic_isolation::isolate_panics;
use super::write::{WriteFailure, is_read, replace};

/// The name of a generated file.
const FILE: &str = "mesh.yaml";

/// A generated file in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GeneratedFile {
    /// The namespace of the group; empty if it is not known.
    pub namespace: String,
    /// The name of the group.
    pub name: String,
    /// The text.
    pub text: String,
}

/// The files that were generated for virtual machines.
#[derive(Clone, Debug, Default)]
pub struct GeneratedFiles {
    /// The files, sorted by namespace and name.
    pub files: Vec<GeneratedFile>,
    /// The number of objects for which no file could be generated.
    pub refused: usize,
    /// The refused objects with reasons, notes, and unreadable files.
    pub findings: Vec<Finding>,
}

/// Generates `mesh.yaml` for the machines of every `WorkloadGroup`.
#[must_use]
pub fn mesh_yamls(set: &SourceSet, settings: &Settings) -> GeneratedFiles {
    let generated = isolate_panics(set, |set| {
        let renderings = render_relevant(set);
        let made = rewrite::mesh_yamls(&Context::new(set, &renderings, settings));
        (made.made, made.refused, made.findings)
    });
    let (made, refused, mut findings) = generated.value;
    findings.extend(generated.faults);
    findings.extend(input_diagnostics(set));
    GeneratedFiles {
        refused,
        ..finished(set, made, findings, settings)
    }
}

fn finished(
    set: &SourceSet,
    made: Vec<GeneratedDocument>,
    mut findings: Vec<Finding>,
    settings: &Settings,
) -> GeneratedFiles {
    let mut files = Vec::new();
    for object in made {
        match text_of(&object.value) {
            Ok(text) => files.push(GeneratedFile {
                namespace: object.namespace,
                name: object.name,
                text,
            }),
            Err(reason) => findings.push(unwritable(&object.name, &reason)),
        }
    }
    files.sort_by(|a, b| (&a.namespace, &a.name, &a.text).cmp(&(&b.namespace, &b.name, &b.text)));
    files.dedup();
    GeneratedFiles {
        files,
        refused: 0,
        findings: with_levels(set, findings, settings),
    }
}

fn unwritable(name: &str, reason: &str) -> Finding {
    let label = Label {
        path: Arc::from(name),
        span: Span::empty(0),
        message: String::new(),
    };
    let message = format!("cannot write a file for `{name}`: {reason}");
    Finding::new(EDIT_REFUSED, Severity::Error, label, message)
}

/// Writes files to a folder, whose path is relative to the working directory. The path of a file is `DIR/FILE` if one
/// object was requested, and `DIR/NAMESPACE/NAME/FILE` if there are several, even if all others were refused. Returns the
/// files that could not be written.
///
/// # Errors
/// Two files would have the same path, a file would overwrite a file of `set`, or the folder is behind a link of the
/// repository that leads out of it. Nothing is then written.
pub fn write_generated(
    made: &GeneratedFiles,
    working_directory: &Path,
    directory: &Path,
    set: &SourceSet,
) -> Result<Vec<WriteFailure>, String> {
    let output = resolved_as_named(&working_directory.join(directory)).map_err(|link| {
        let link = shown_path(&link, working_directory);
        format!("the link `{link}` leads out of the repository")
    })?;
    let is_single = made.files.len() + made.refused == 1;
    let files = &made.files;
    let path_of = |made: &GeneratedFile| -> PathBuf {
        if is_single {
            return PathBuf::from(FILE);
        }
        let namespace = if made.namespace.is_empty() {
            "default"
        } else {
            &made.namespace
        };
        let folders = Path::new(&folder_name(namespace)).join(folder_name(&made.name));
        folders.join(FILE)
    };
    let mut paths = BTreeSet::new();
    for made in files {
        let path = path_of(made);
        let shown = directory.join(&path);
        if is_read(set, &output.join(&path)) {
            return Err(format!(
                "it would overwrite the input `{}`",
                shown.display()
            ));
        }
        if !paths.insert(path) {
            return Err(format!("two files have the path `{}`", shown.display()));
        }
    }
    let failures = files.iter().filter_map(|made| {
        let path = path_of(made);
        let reason = write_one(&output.join(&path), &made.text).err()?;
        Some(WriteFailure {
            path: directory
                .join(path)
                .to_string_lossy()
                .replace(std::path::MAIN_SEPARATOR, "/")
                .into(),
            reason,
        })
    });
    Ok(failures.collect())
}

/// Returns the name of the folder for a name from a manifest, which must not contain a path.
fn folder_name(name: &str) -> String {
    let folder = name.replace(['/', '\\', ':', '\0'], "_");
    if folder.trim_matches('.').is_empty() {
        "_".to_owned()
    } else {
        folder
    }
}

/// Writes a file, and creates the folders that contain it. The folders are in one that the user names, which may belong to
/// a repository: a link in the path of the file is an error.
fn write_one(path: &Path, text: &str) -> Result<(), String> {
    let write = || {
        if let Some(folder) = path.parent() {
            let exists = |folder: &&Path| folder.symlink_metadata().is_ok();
            if let Some(existing) = folder.ancestors().find(exists)
                && canonical(existing)? != existing
            {
                return Err(std::io::Error::other("a symbolic link is in the way"));
            }
            fs::create_dir_all(folder)?;
        }
        replace(path, text.as_bytes(), || Ok(true))
    };
    write().map_err(|error: std::io::Error| io_error_reason(&error))
}
