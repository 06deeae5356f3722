//! `textDocument/definition` and `textDocument/references`: from a probe to the lines that decide, and back.

use gen_lsp_types::{
    Definition, DefinitionParams, Location, ReferenceParams, TextDocumentPositionParams,
};

use meshprobe_mesh::finding::Label;

use crate::analysis::Analysis;
use crate::insight::{Cursor, decided_by, probes_in};

/// Returns the lines that decide the probe at the position; at such a line, the probes that it decides. At another line of an
/// object that decides probes, returns those that the text around the line decides.
pub(super) fn definition(analysis: &Analysis, params: &DefinitionParams) -> Option<Definition> {
    let found = locations(analysis, &params.text_document_position_params, false)?;
    Some(Definition::LocationList(found))
}

/// Returns the same lines as [`definition`], on request with the probe or the line at the position itself.
pub(super) fn references(analysis: &Analysis, params: &ReferenceParams) -> Option<Vec<Location>> {
    let with_itself = params.context.include_declaration;
    locations(analysis, &params.text_document_position_params, with_itself)
}

fn locations(
    analysis: &Analysis,
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
    let location = |label: &Label| analysis.location(&label.path, label.span);
    let here: Vec<_> = probes_in(analysis, cursor.file)
        .filter(|(_, probe)| is_around(probe.place.span))
        .collect();
    for (_, probe) in &here {
        let own = Some(&probe.place).filter(|_| with_itself);
        let because = probe.because.iter();
        let because = because.filter_map(|entry| entry.reason.place.as_ref());
        let places = own.into_iter().chain(because);
        places.filter_map(location).for_each(&mut add);
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
        let places = decisions.iter().map(|decision| &decision.probe.place);
        places.filter_map(location).for_each(add);
    }
    (!found.is_empty()).then_some(found)
}
