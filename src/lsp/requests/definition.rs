//! `textDocument/definition` and `textDocument/references`: from a probe to the lines that decide, and back.

use gen_lsp_types::{
    Definition, DefinitionParams, Location, ReferenceParams, TextDocumentPositionParams,
};

use crate::lsp::analysis::Analysis;
use crate::lsp::insight::{Cursor, decided_by, deciding_locations, handlers_in};

/// Returns the lines that decide the probe at the position; at such a line, the probes that it decides. At another line of an
/// object that decides probes, returns those that the text around the line decides.
pub(super) fn definition(
    analysis: &Analysis<'_, '_>,
    params: &DefinitionParams,
) -> Option<Definition> {
    let found = locations(analysis, &params.text_document_position_params, false)?;
    Some(Definition::LocationList(found))
}

/// Returns the same lines as [`definition`], on request with the probe or the line at the position itself.
pub(super) fn references(
    analysis: &Analysis<'_, '_>,
    params: &ReferenceParams,
) -> Option<Vec<Location>> {
    let with_itself = params.context.include_declaration;
    locations(analysis, &params.text_document_position_params, with_itself)
}

fn locations(
    analysis: &Analysis<'_, '_>,
    at: &TextDocumentPositionParams,
    with_itself: bool,
) -> Option<Vec<Location>> {
    let cursor = Cursor::of(analysis, at)?;
    let mut found: Vec<Location> = Vec::new();
    let mut add = |location: Location| {
        if !found.contains(&location) {
            found.push(location);
        }
    };
    let is_around = |span| cursor.entries.iter().any(|entry| entry.key.span() == span);
    let here: Vec<_> = handlers_in(analysis, cursor.file)
        .filter(|(span, _)| is_around(*span))
        .collect();
    for (_, handler) in &here {
        if with_itself {
            handler.location(analysis).into_iter().for_each(&mut add);
        }
        deciding_locations(analysis, handler)
            .into_iter()
            .for_each(&mut add);
    }
    if here.is_empty() {
        let spans = cursor.subjects();
        let decided = |span| decided_by(analysis, cursor.file, span);
        let mut decisions = spans.map(decided);
        let decisions = decisions.find(|decisions| !decisions.is_empty())?;
        if with_itself {
            let entry = cursor.entry()?;
            add(analysis.location(&cursor.file.path, entry.key.span())?);
        }
        let probes = decisions
            .iter()
            .filter_map(|decision| decision.of.location(analysis));
        probes.for_each(add);
    }
    (!found.is_empty()).then_some(found)
}
