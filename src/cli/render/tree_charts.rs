//! Runs the user's Helm for the charts of the tree (`--helm auto`).

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use meshprobe_tree::source::{
    HELM_OUTPUT, Rendered, RenderedChart, Trail, helm_output_of, io_error_reason,
};
use rayon::iter::{IntoParallelRefIterator as _, ParallelIterator as _};
use tempfile::TempDir;

use super::process::helm_output;
use super::renderers::below;
use crate::cli::session::Session;
use crate::engine::ChartRun;

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
