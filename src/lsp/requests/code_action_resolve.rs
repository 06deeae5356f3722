//! `codeAction/resolve`: the edits of actions that need a run of their own.

use gen_lsp_types::{CodeAction, Uri};
use meshprobe_predict::predict::WorkloadPrediction;
use meshprobe_tree::source::{Role, SourceFile, SourceSet};
use meshprobe_yaml::Edit;
use rayon::ThreadPool;
use serde::{Deserialize, Serialize};

use super::edits::{difference, workspace_edit};
use crate::engine::{self, Changed};
use crate::lsp::analysis::Analysis;

/// An action whose edits are computed when the user selects it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Deferred {
    /// `check --fix` of the document.
    FixAll,
    /// `rewrite` of one pod.
    Rewrite,
    /// `rewrite --undo` of one pod.
    Undo,
}

impl Deferred {
    /// Returns the title of the action.
    pub(super) const fn title(self) -> &'static str {
        match self {
            Self::FixAll => "Fix all safe findings in this file",
            Self::Rewrite => "Rewrite the probes of this pod",
            Self::Undo => "Undo the rewrite of this pod",
        }
    }
}

#[derive(Deserialize)]
struct Data {
    uri: Uri,
    work: Deferred,
    document: usize,
}

/// Returns the document of the YAML stream that an action is about; `None` if it does not apply at `offset`. Whether a
/// rewrite is refused is only known when it is planned.
pub(super) fn applies(
    analysis: &Analysis<'_, '_>,
    file: &SourceFile,
    offset: usize,
    work: Deferred,
) -> Option<usize> {
    if file.role != Role::Target || file.rendered {
        return None;
    }
    if work == Deferred::FixAll {
        let is_safe = |fix: &meshprobe_mesh::finding::Fix| {
            fix.applicability.is_safe() && fix.path == file.path
        };
        let mut fixes = analysis
            .outcome
            .findings
            .iter()
            .filter_map(|finding| finding.fix.as_ref());
        return fixes.any(is_safe).then_some(0);
    }
    let mut documents = file.documents.iter();
    let document = documents
        .find(|document| document.segment.start <= offset && offset <= document.segment.end)?;
    let of_document = |pod: &&WorkloadPrediction<'_>| {
        let object = &pod.workload.object;
        **object.path() == *file.path && object.document.index == document.index
    };
    let mut pods = analysis.facts?.predictions.iter().filter(of_document);
    let applies = pods.any(|pod| {
        let mut handlers = pod.handlers.iter();
        match work {
            Deferred::Rewrite => handlers.any(|handler| handler.rewritten_to.is_some()),
            _ => pod.is_prerewritten(),
        }
    });
    applies.then_some(document.index)
}

/// Returns an action with its edit, if there is something to change.
pub(super) fn answer(
    analysis: &Analysis<'_, '_>,
    pool: &ThreadPool,
    action: CodeAction,
) -> CodeAction {
    let data = action.data.clone();
    let data = data.and_then(|data| serde_json::from_value::<Data>(data).ok());
    let edit = data.and_then(|data| {
        let file = analysis.file(&data.uri)?;
        let edit = edit(analysis, pool, file, &data)?;
        workspace_edit(analysis, file, [(edit.span, edit.text)])
    });
    CodeAction { edit, ..action }
}

fn edit(
    analysis: &Analysis<'_, '_>,
    pool: &ThreadPool,
    file: &SourceFile,
    data: &Data,
) -> Option<Edit> {
    let plan = analysis.plan;
    let settings = &plan.settings;
    if data.work == Deferred::FixAll {
        let set = with_one_target(analysis.set, file);
        let fixed = pool.install(|| {
            engine::fix_unknown(&set, settings, false, |set, outcome| {
                (plan.suppress)(set, outcome);
            })
        });
        let changed = changed(fixed.changed, file)?;
        return difference(&changed.before, &changed.after, 0);
    }
    let set = with_one_target(analysis.set, file);
    let rewritten = pool.install(|| match data.work {
        Deferred::Undo => engine::undo(&set, settings),
        _ => engine::rewrite(&set, settings),
    });
    let after = rewritten.set.file(&file.path)?;
    let old = file.documents.get(data.document)?.segment;
    let new = after.documents.get(data.document)?.segment;
    difference(old.slice(&file.text), new.slice(&after.text), old.start)
}

/// Returns the files, of which only one is checked and changed; the others state facts.
fn with_one_target(set: &SourceSet, file: &SourceFile) -> SourceSet {
    let mut set = set.clone();
    for other in &mut set.files {
        if other.role == Role::Target && other.path != file.path {
            other.role = Role::Repository;
        }
    }
    set
}

fn changed(changed: Vec<Changed>, file: &SourceFile) -> Option<Changed> {
    changed
        .into_iter()
        .find(|changed| changed.path == file.path)
}
