//! `--kustomize` and `--helm`: runs the user's own renderer. Nothing is written but one file in a
//! folder of its own, which is gone afterwards.

mod process;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::source::{
    Rendered, Trail, canonical, kustomization_in, reason, relative_path, shown_path,
};

use super::args::Common;
use super::input::named;
use super::output::Stop;
use super::session::Session;

use process::{Failure, output};

/// The file that a build through another kustomization needs.
/// Source: kustomize 5.8, `api/types/kustomization.go`, `buildMetadata`; absolute paths are refused
/// in `resources`.
const WRAPPER: &str = "kustomization.yaml";

/// One run of a renderer, and the path that it was asked to render.
pub(super) struct Run {
    pub(super) asked: PathBuf,
    pub(super) rendered: Rendered,
}

/// Renders all that the user asks for, one after the other.
///
/// # Errors
/// Paths that cannot be rendered at all, as they are not there. A renderer that fails is no error.
pub(super) fn all(session: &Session, common: &Common) -> Result<Vec<Run>, Stop> {
    let directory = session.directory()?;
    let mut runs = Vec::new();
    for folder in &common.kustomize {
        let place = existing("--kustomize", folder, directory)?;
        if !place.is_dir() {
            let shown = folder.display();
            return Err(Stop::usage(format!("--kustomize: {shown} is not a folder")));
        }
        runs.push(kustomize(session, folder, &place, directory));
    }
    for file in &common.values {
        existing("--values", file, directory)?;
    }
    for chart in &common.helm {
        let place = existing("--helm", chart, directory)?;
        runs.push(helm(session, chart, &place, directory, common));
    }
    Ok(runs)
}

/// The one spelling of a path. What is not on disk would have to be fetched.
fn existing(option: &str, path: &Path, directory: &Path) -> Result<PathBuf, Stop> {
    let place = named(option, path, directory)?;
    std::fs::metadata(&place).map_err(|error| {
        let (shown, reason) = (path.display(), reason(&error));
        Stop::usage(format!("{option}: cannot read {shown}: {reason}"))
    })?;
    Ok(place)
}

fn kustomize(session: &Session, folder: &Path, place: &Path, directory: &Path) -> Run {
    // Twice, at the same time: as it stands, and with the origin of every resource. The second build
    // goes through another root, which may bring resources in another order.
    let (built, traced) = std::thread::scope(|scope| {
        let traced = scope.spawn(|| traced(session, place));
        let built = build(session, folder);
        let traced = traced
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        (built, traced)
    });
    let shown = shown_path(&directory.join(folder), directory);
    let file = kustomization_in(&directory.join(folder));
    let file = file.unwrap_or_else(|| directory.join(folder).join(WRAPPER));
    let (output, base) = traced.unzip();
    Run {
        asked: folder.to_path_buf(),
        rendered: Rendered {
            name: below(&shown, "(kustomize build)"),
            asked: shown_path(&file, directory).into(),
            outcome: built.map(Arc::from),
            trail: Trail::Annotations {
                output: output.map(Arc::from),
                folder: base.unwrap_or_default(),
                built: place.to_path_buf(),
            },
        },
    }
}

/// Builds with kustomize, or with the one in kubectl.
fn build(session: &Session, folder: &Path) -> Result<Vec<u8>, String> {
    let folder = argument(folder);
    let mut kustomize = session.command("kustomize");
    let built = output(kustomize.arg("build").arg(&folder));
    if !matches!(built, Err(Failure::NotFound)) {
        return built.map_err(|failure| failure.told("kustomize build", &folder));
    }
    let mut kubectl = session.command("kubectl");
    match output(kubectl.arg("kustomize").arg(&folder)) {
        Err(Failure::NotFound) => Err(format!(
            "{} was not built: neither `kustomize` nor `kubectl` is on the PATH",
            folder.display()
        )),
        built => built.map_err(|failure| failure.told("kubectl kustomize", &folder)),
    }
}

/// The same build with the origin of every resource, and the folder that origins are relative to.
fn traced(session: &Session, place: &Path) -> Option<(Vec<u8>, PathBuf)> {
    let folder = tempfile::Builder::new()
        .prefix("meshprobe-")
        .tempdir()
        .ok()?;
    let at = canonical(folder.path()).ok()?;
    let root = serde_json::to_string(&relative_path(place, &at)).ok()?;
    let text = format!("resources: [{root}]\nbuildMetadata: [originAnnotations]\n");
    std::fs::write(at.join(WRAPPER), text).ok()?;
    Some((build(session, &at).ok()?, at))
}

fn helm(session: &Session, chart: &Path, place: &Path, directory: &Path, common: &Common) -> Run {
    let mut helm = session.command("helm");
    helm.arg("template").arg(argument(chart));
    if let Some(namespace) = &common.namespace {
        helm.arg("--namespace").arg(namespace);
    }
    for file in &common.values {
        helm.arg("--values").arg(file);
    }
    let outcome = output(&mut helm).map_err(|failure| match failure {
        Failure::NotFound => format!(
            "{} was not rendered: `helm` is not on the PATH",
            chart.display()
        ),
        failure => failure.told("helm template", chart),
    });
    let shown = shown_path(&directory.join(chart), directory);
    let asked = if place.is_dir() {
        below(&shown, "Chart.yaml")
    } else {
        shown.as_str().into()
    };
    Run {
        asked: chart.to_path_buf(),
        rendered: Rendered {
            name: below(&shown, "(helm template)"),
            asked,
            outcome: outcome.map(Arc::from),
            trail: Trail::Chart(place.to_path_buf()),
        },
    }
}

/// What a renderer makes lies, for all questions of nearness, in what it was asked to render.
fn below(folder: &str, name: &str) -> Arc<str> {
    match folder {
        "." => name.into(),
        _ => format!("{folder}/{name}").into(),
    }
}

/// A path is never an option.
fn argument(path: &Path) -> PathBuf {
    if path.as_os_str().as_encoded_bytes().starts_with(b"-") {
        Path::new(".").join(path)
    } else {
        path.to_path_buf()
    }
}

impl Failure {
    fn told(self, command: &str, path: &Path) -> String {
        let said = match self {
            Self::NotFound => "it is not on the PATH".to_owned(),
            Self::Message(message) => message,
        };
        format!("`{command} {}` failed: {said}", path.display())
    }
}
