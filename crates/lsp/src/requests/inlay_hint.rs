//! `textDocument/inlayHint`: at each probe, the rewritten target and the outcome.

use std::collections::BTreeMap;

use gen_lsp_types::{InlayHint, InlayHintParams};
use meshprobe_tree::source::SourceFile;
use meshprobe_yaml::Span;

use crate::analysis::Analysis;
use crate::insight::{Outcomes, probes_in};

/// Returns the hints for the probes in a range. Probes outside of a mesh have none.
pub(super) fn answer(analysis: &Analysis, params: &InlayHintParams) -> Option<Vec<InlayHint>> {
    let file = analysis.file(&params.text_document.uri)?;
    let wanted = params.range;
    let mut probes: BTreeMap<Span, Outcomes<'_>> = BTreeMap::new();
    for found in probes_in(analysis, file) {
        probes.entry(found.1.place.span).or_default().0.push(found);
    }
    let in_mesh = probes
        .into_iter()
        .filter(|(_, outcomes)| outcomes.is_in_mesh());
    let hints = in_mesh.filter_map(|(key, outcomes)| {
        let at = analysis.range(file, Span::new(key.start, line_end(file, key)));
        let is_wanted = at.start <= wanted.end && wanted.start <= at.end;
        is_wanted.then(|| InlayHint {
            position: at.end,
            label: label(&outcomes).into(),
            kind: None,
            text_edits: None,
            tooltip: outcomes.first().map(|first| first.why.into()),
            padding_left: Some(true),
            padding_right: None,
            data: None,
        })
    });
    Some(hints.collect())
}

/// Returns `→ :15020/app-health/web/readyz  ok`, or only the outcome if the mesh does not rewrite the probe.
fn label(outcomes: &Outcomes<'_>) -> String {
    let outcome = outcomes.text();
    match outcomes.first().map(|first| first.rewritten_to.as_str()) {
        None | Some("") => outcome,
        Some(target) => {
            let target = target.strip_prefix("http ").unwrap_or(target);
            format!("→ {target}  {outcome}")
        }
    }
}

/// Returns the end of the line of a key, without white space.
fn line_end(file: &SourceFile, key: Span) -> usize {
    let rest = file.text.get(key.end..).unwrap_or_default();
    let line = rest.split(['\n', '\r']).next().unwrap_or_default();
    key.end + line.trim_end().len()
}
