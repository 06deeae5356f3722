//! Runs the user's kustomize or Helm for `--kustomize` and `--helm`, and Helm for the charts of the tree (`--helm auto`).

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use meshprobe_tree::source::{
    FileSystem, HELM_OUTPUT, Rendered, RenderedChart, Trail, canonical, helm_output_of,
    io_error_reason, relative_path, shown_path,
};
use rayon::iter::{IntoParallelRefIterator as _, ParallelIterator as _};
use tempfile::TempDir;

use super::process::{Failure, helm_output, output};
use crate::cli::args::Common;
use crate::cli::paths::resolve_named_path;
use crate::cli::session::Session;
use crate::cli::stop::Stop;
use meshprobe_engine::engine::ChartRun;

/// The kustomization that includes the folder to render, and requests the origins of its resources.
/// Source: kustomize 5.8, `api/types/kustomization.go`, `buildMetadata`; `resources` must not contain absolute paths.
const WRAPPER: &str = "kustomization.yaml";

/// One run of a renderer, and the path that the user asked to render.
pub(in crate::cli) struct RendererRun {
    pub(in crate::cli) asked: PathBuf,
    pub(in crate::cli) rendered: Rendered,
}

/// Renders all folders and charts that the options name, one after the other.
///
/// # Errors
/// A path does not exist or cannot be read. The failure of a renderer is not an error, but part of the result.
pub(in crate::cli) fn all(session: &Session, common: &Common) -> Result<Vec<RendererRun>, Stop> {
    let directory = session.directory()?;
    let mut runs = Vec::new();
    for folder in &common.kustomize {
        let place = existing("--kustomize", folder, directory)?;
        if !place.is_dir() {
            let shown = folder.display();
            return Err(Stop::usage(format!(
                "`{shown}` for `--kustomize` is not a folder"
            )));
        }
        runs.push(kustomize(session, folder, &place, directory));
    }
    for file in &common.values {
        existing("--values", file, directory)?;
    }
    if common.charts().next().is_none() {
        reject_values_of_no_chart(common)?;
    }
    for chart in common.charts() {
        let place = existing("--helm", chart, directory)?;
        runs.push(helm(session, chart, &place, directory, common));
    }
    Ok(runs)
}

/// Rejects values for the charts of the tree, which have their own.
fn reject_values_of_no_chart(common: &Common) -> Result<(), Stop> {
    let options = [
        ("--values", common.values.is_empty()),
        ("--set", common.set.is_empty()),
    ];
    match options.iter().find(|(_, is_empty)| !is_empty) {
        Some((option, _)) => Err(Stop::usage(format!(
            "`{option}` cannot be used with `--helm auto`, which reads the values of each chart from the tree"
        ))
        .help("name the chart with `--helm CHART`")),
        None => Ok(()),
    }
}

/// Resolves a path that must exist: meshprobe does not fetch remote folders and charts.
fn existing(option: &str, path: &Path, directory: &Path) -> Result<PathBuf, Stop> {
    let place = resolve_named_path(option, path, directory)?;
    std::fs::metadata(&place).map_err(|error| {
        let (shown, reason) = (path.display(), io_error_reason(&error));
        Stop::usage(format!("cannot read `{shown}` for `{option}`: {reason}"))
    })?;
    Ok(place)
}

fn kustomize(session: &Session, folder: &Path, place: &Path, directory: &Path) -> RendererRun {
    // Build the folder twice, in parallel: unchanged, and with the origin of every resource. The second build has
    // another root, which may change the order of the resources.
    let (built, traced) = std::thread::scope(|scope| {
        let traced = scope.spawn(|| traced(session, place));
        let built = build(session, folder);
        let traced = traced
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        (built, traced)
    });
    let shown = shown_path(&directory.join(folder), directory);
    let file = FileSystem::default()
        .kustomization_in(&directory.join(folder))
        .unwrap_or_else(|| directory.join(folder).join(WRAPPER));
    let (output, base) = traced.unzip();
    RendererRun {
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
            chart: None,
        },
    }
}

/// Builds with `kustomize`, or with `kubectl kustomize` if there is no `kustomize` on the PATH.
fn build(session: &Session, folder: &Path) -> Result<Vec<u8>, String> {
    let folder = argument(folder);
    let mut kustomize = session.command("kustomize");
    let built = output(kustomize.arg("build").arg(&folder));
    if !matches!(built, Err(Failure::NotFound)) {
        return built.map_err(|failure| failure.message("kustomize build", &folder));
    }
    let mut kubectl = session.command("kubectl");
    match output(kubectl.arg("kustomize").arg(&folder)) {
        Err(Failure::NotFound) => Err(format!(
            "cannot build `{}`: neither `kustomize` nor `kubectl` is on the PATH",
            folder.display()
        )),
        built => built.map_err(|failure| failure.message("kubectl kustomize", &folder)),
    }
}

/// Builds a folder with the origin of every resource. Also returns the folder that origins are relative to; returns
/// `None` if the build fails.
fn traced(session: &Session, place: &Path) -> Option<(Vec<u8>, PathBuf)> {
    let folder = tempfile::Builder::new()
        .prefix("meshprobe-")
        .tempdir()
        .ok()?;
    let root = canonical(folder.path()).ok()?;
    let resource = serde_json::to_string(&relative_path(place, &root)).ok()?;
    let text = format!("resources: [{resource}]\nbuildMetadata: [originAnnotations]\n");
    std::fs::write(root.join(WRAPPER), text).ok()?;
    Some((build(session, &root).ok()?, root))
}

fn helm(
    session: &Session,
    chart: &Path,
    place: &Path,
    directory: &Path,
    common: &Common,
) -> RendererRun {
    let mut helm = session.command("helm");
    helm.arg("template").arg(argument(chart));
    if let Some(namespace) = &common.namespace {
        helm.arg("--namespace").arg(namespace);
    }
    for file in &common.values {
        helm.arg("--values").arg(file);
    }
    for pair in &common.set {
        helm.arg("--set").arg(pair);
    }
    let outcome = helm_output(&mut helm, chart);
    let shown = shown_path(&directory.join(chart), directory);
    let asked = if place.is_dir() {
        below(&shown, "Chart.yaml")
    } else {
        shown.as_str().into()
    };
    RendererRun {
        asked: chart.to_path_buf(),
        rendered: Rendered {
            name: below(&shown, HELM_OUTPUT),
            asked,
            outcome: outcome.map(Arc::from),
            trail: Trail::Chart(place.to_path_buf()),
            chart: Some(Arc::new(RenderedChart {
                folder: shown.as_str().into(),
                releases: Vec::new(),
            })),
        },
    }
}

/// Returns the path of rendered text: below the folder that was rendered, because facts are looked up by folder.
pub(super) fn below(folder: &str, name: &str) -> Arc<str> {
    match folder {
        "." => name.into(),
        _ => format!("{folder}/{name}").into(),
    }
}

/// Returns a path as an argument that no program reads as an option.
fn argument(path: &Path) -> PathBuf {
    if path.as_os_str().as_encoded_bytes().starts_with(b"-") {
        Path::new(".").join(path)
    } else {
        path.to_path_buf()
    }
}

/// Renders charts in parallel, in the thread pool of the caller. The failure of a rendering is not an error, but part of
/// the result. The result has the order of `runs`.
pub(in crate::cli) fn tree_charts(session: &Session, runs: &[ChartRun]) -> Vec<Rendered> {
    let outcomes: Vec<Result<Vec<u8>, String>> =
        runs.par_iter().map(|run| render(session, run)).collect();
    runs.iter()
        .zip(names(runs))
        .zip(outcomes)
        .map(|((run, name), outcome)| Rendered {
            name,
            asked: run.cause(),
            outcome: outcome.map(Arc::from),
            trail: Trail::Chart(run.place.clone()),
            chart: Some(Arc::new(RenderedChart {
                folder: Arc::clone(&run.folder),
                releases: run.releases.clone(),
            })),
        })
        .collect()
}

/// Returns a name for the output of each run. Releases of one chart with the same name are numbered.
fn names(runs: &[ChartRun]) -> Vec<Arc<str>> {
    let mut known: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    let mut names = Vec::with_capacity(runs.len());
    for run in runs {
        let output = match &run.name {
            None => HELM_OUTPUT.to_owned(),
            Some(name) => {
                let count = known.entry((&run.folder, name)).or_default();
                *count += 1;
                match *count {
                    1 => helm_output_of(name),
                    count => helm_output_of(&format!("{name}, {count}")),
                }
            }
        };
        names.push(below(&run.folder, &output));
    }
    names
}

fn render(session: &Session, run: &ChartRun) -> Result<Vec<u8>, String> {
    let shown = Path::new(&*run.folder);
    let (_folder, texts) = written(&run.texts).map_err(|error| {
        let why = io_error_reason(&error);
        format!(
            "cannot render `{}`: cannot write its values: {why}",
            run.folder
        )
    })?;
    let mut helm = session.command("helm");
    helm.arg("template");
    if let Some(namespace) = &run.namespace {
        // In one argument, a value that starts with `-` is not an option.
        helm.arg(format!("--namespace={namespace}"));
    }
    for file in run.values.iter().chain(&texts) {
        let field = csv_field(file).ok_or_else(|| {
            let (folder, file) = (&run.folder, file.display());
            format!("cannot render `{folder}`: the path `{file}` is not UTF-8")
        })?;
        helm.arg("--values").arg(field);
    }
    for (option, pairs) in [("--set", &run.set), ("--set-string", &run.set_strings)] {
        helm.args(pairs.iter().map(|pair| format!("{option}={pair}")));
    }
    helm.arg("--");
    if let Some(name) = &run.name {
        helm.arg(name);
    }
    helm_output(helm.arg(&run.place), shown)
}

/// Returns a path as a quoted field of CSV, because helm splits the value of `--values` at commas; `None` if it is not
/// UTF-8.
fn csv_field(path: &Path) -> Option<String> {
    Some(format!("\"{}\"", path.to_str()?.replace('"', "\"\"")))
}

/// Writes values to files in a temporary folder, which is removed when it is dropped.
fn written(texts: &[String]) -> io::Result<(Option<TempDir>, Vec<PathBuf>)> {
    if texts.is_empty() {
        return Ok((None, Vec::new()));
    }
    let folder = tempfile::Builder::new().prefix("meshprobe-").tempdir()?;
    let mut files = Vec::new();
    for (number, text) in texts.iter().enumerate() {
        let file = folder.path().join(format!("{number}.yaml"));
        std::fs::write(&file, text)?;
        files.push(file);
    }
    Ok((Some(folder), files))
}
