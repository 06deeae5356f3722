//! Merges the related lines of a finding that have the same message.

use meshprobe_mesh::finding::{Finding, Label, name_list};

use super::results::Results;

/// Related lines with the same message.
#[derive(Debug)]
pub(super) struct RelatedLines<'f> {
    /// The message of all lines.
    pub(super) message: &'f str,
    /// The lines, each with its index among the related lines of the finding.
    pub(super) lines: Vec<(usize, &'f Label)>,
}

/// Returns the related lines in their order. For a finding in several environments, in each of which another line may
/// decide, lines with the same message are merged.
pub(super) fn related_lines(finding: &Finding) -> Vec<RelatedLines<'_>> {
    let mut merged: Vec<RelatedLines<'_>> = Vec::new();
    for (index, label) in finding.related.iter().enumerate() {
        let message = label.message.as_str();
        let known = merged
            .iter_mut()
            .find(|known| known.message == message && !finding.environments.is_empty());
        match known {
            Some(known) => known.lines.push((index, label)),
            None => merged.push(RelatedLines {
                message,
                lines: vec![(index, label)],
            }),
        }
    }
    merged
}

impl RelatedLines<'_> {
    /// Returns the text of the lines: their places, of which a long list is cut, and the message.
    pub(super) fn text(&self, results: &Results<'_>) -> String {
        let mut places: Vec<String> = Vec::new();
        for (_, label) in &self.lines {
            let place = results.place(label);
            // Several outputs of a chart have the same source.
            if !places.contains(&place) {
                places.push(place);
            }
        }
        let places = name_list(places.iter().map(String::as_str));
        format!("{places}: {}", self.message)
    }
}
