//! `textDocument/codeAction`: the fixes of findings, suppressions, and rewrites.

use gen_lsp_types::{CodeAction, CodeActionKind, CodeActionParams, Diagnostic, Range};
use meshprobe_mesh::finding::{Applicability, Finding};
use meshprobe_tree::source::SourceFile;
use rayon::ThreadPool;
use serde_json::json;

use super::code_action_resolve;
use super::code_action_resolve::{Deferred, selecting_edit, workspace_edit};
use crate::analysis::Analysis;
use crate::encoding::Lines;
use meshprobe_engine::engine::suppression_edit;

/// The reason of a suppression, which the user replaces. A client that supports it selects the reason.
const REASON: &str = "TODO: explain why";

/// Returns the actions for a range of a document.
pub(super) fn answer(
    analysis: &Analysis,
    pool: &ThreadPool,
    params: &CodeActionParams,
) -> Option<Vec<CodeAction>> {
    let file = analysis.file(&params.text_document.uri)?;
    let wanted = |kind: &CodeActionKind| is_wanted(params.context.only.as_deref(), kind);
    let mut actions = Vec::new();
    if wanted(&CodeActionKind::QuickFix) {
        for finding in found(analysis, file, params.range) {
            let diagnostics = diagnostics_of(analysis, file, params, finding);
            actions.extend(fix(analysis, finding, diagnostics.clone()));
            actions.extend(suppression(analysis, finding, diagnostics));
        }
    }
    let line = analysis.lines(file).offset(params.range.start);
    let deferred = [
        (CodeActionKind::RefactorRewrite, Deferred::Rewrite),
        (CodeActionKind::RefactorRewrite, Deferred::Undo),
        (CodeActionKind::Custom(FIX_ALL.into()), Deferred::FixAll),
    ];
    for (kind, work) in deferred.into_iter().filter(|(kind, _)| wanted(kind)) {
        let Some(document) = code_action_resolve::applies(analysis, file, line, work) else {
            continue;
        };
        let action = CodeAction {
            title: work.title().to_owned(),
            kind: Some(kind),
            data: Some(json!({
                "uri": params.text_document.uri,
                "work": work,
                "document": document,
            })),
            ..CodeAction::default()
        };
        if analysis.supports.resolve_edits {
            actions.push(action);
        } else if is_named(params.context.only.as_deref(), work) {
            // Without this condition, each movement of the cursor would cost another analysis.
            let resolved = code_action_resolve::answer(analysis, pool, action);
            actions.extend(resolved.edit.is_some().then_some(resolved));
        }
    }
    Some(actions)
}

/// Returns whether the client wants actions of a kind: it names the kind or one above it, or no kind at all.
fn is_wanted(only: Option<&[CodeActionKind]>, kind: &CodeActionKind) -> bool {
    let kind = kind.to_string();
    only.is_none_or(|only| {
        only.iter().map(ToString::to_string).any(|wanted| {
            let rest = kind.strip_prefix(wanted.as_str());
            wanted.is_empty() || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        })
    })
}

/// Returns whether the client wants only actions of the kind of `work`.
fn is_named(only: Option<&[CodeActionKind]>, work: Deferred) -> bool {
    let family = match work {
        Deferred::FixAll => "source",
        Deferred::Rewrite | Deferred::Undo => "refactor",
    };
    only.is_some_and(|only| only.iter().any(|kind| kind.to_string().starts_with(family)))
}

/// Returns the findings on the lines of a range.
fn found<'s>(
    analysis: &'s Analysis,
    file: &SourceFile,
    range: Range,
) -> impl Iterator<Item = &'s Finding> {
    let lines = Lines::new(&file.text, analysis.supports.encoding);
    let here: Vec<&Finding> = analysis
        .outcome
        .findings
        .iter()
        .filter(|finding| finding.primary.path == file.path)
        .filter(|finding| {
            let at = lines.range(finding.primary.span);
            at.start.line <= range.end.line && range.start.line <= at.end.line
        })
        .collect();
    here.into_iter()
}

/// Returns the diagnostics of the client that show a finding.
fn diagnostics_of(
    analysis: &Analysis,
    file: &SourceFile,
    params: &CodeActionParams,
    finding: &Finding,
) -> Option<Vec<Diagnostic>> {
    let lines = Lines::new(&file.text, analysis.supports.encoding);
    let range = lines.range(finding.primary.span);
    let is_same = |diagnostic: &&Diagnostic| {
        let message = diagnostic
            .data
            .as_ref()
            .and_then(|data| data.get("message"));
        diagnostic.range == range
            && message.is_none_or(|message| message.as_str() == Some(&*finding.message))
            && diagnostic.code == Some(finding.rule.as_str().to_owned().into())
    };
    let shown: Vec<Diagnostic> = params
        .context
        .diagnostics
        .iter()
        .filter(is_same)
        .cloned()
        .collect();
    (!shown.is_empty()).then_some(shown)
}

/// Returns the action that applies the fix of a finding, with the edits of `check --fix`.
fn fix(
    analysis: &Analysis,
    finding: &Finding,
    diagnostics: Option<Vec<Diagnostic>>,
) -> Option<CodeAction> {
    let fix = finding.fix.as_ref()?;
    let file = analysis.set.file(&fix.path)?;
    let title = match &fix.applicability {
        Applicability::Safe => fix.title.clone(),
        Applicability::Unsafe(reason) => format!("{} (unsafe: {reason})", fix.title),
        Applicability::DisplayOnly(_) => return None,
    };
    let edits = fix.edits.iter().map(|edit| (edit.span, edit.text.clone()));
    Some(CodeAction {
        title,
        kind: Some(CodeActionKind::QuickFix),
        diagnostics,
        is_preferred: Some(fix.applicability.is_safe()),
        edit: Some(workspace_edit(analysis, file, edits)?),
        ..CodeAction::default()
    })
}

/// Returns the action that suppresses a finding with a comment.
fn suppression(
    analysis: &Analysis,
    finding: &Finding,
    diagnostics: Option<Vec<Diagnostic>>,
) -> Option<CodeAction> {
    let edit = suppression_edit(&analysis.set, finding, REASON)?;
    let file = analysis.set.file(&edit.path)?;
    Some(CodeAction {
        title: format!("Ignore `{}` here, with a reason", finding.rule),
        kind: Some(CodeActionKind::QuickFix),
        diagnostics,
        is_preferred: Some(false),
        edit: Some(selecting_edit(
            analysis,
            file,
            (edit.span, edit.text),
            REASON,
        )?),
        ..CodeAction::default()
    })
}

/// The kind of the action that applies all safe fixes of a document.
pub(crate) const FIX_ALL: &str = "source.fixAll.meshprobe";
