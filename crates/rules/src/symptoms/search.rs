//! Finds the symptoms of a pasted text.

use std::cmp::Reverse;

use crate::symptoms::pattern::{Pattern, Specificity, normal};
use crate::symptoms::registry::all;
use crate::symptoms::symptom::Symptom;

/// The number of bytes between two fragments of a pattern in a text whose lines were joined. Larger distances would
/// combine the texts of different events.
const JOINED_DISTANCE: usize = 240;

/// A symptom that a text shows.
#[derive(Clone, Debug)]
pub struct Match {
    /// The symptom.
    pub symptom: &'static Symptom,
    /// How much the line says about the cause.
    pub specificity: Specificity,
    /// The first line that shows the symptom, without white space around it; several lines if the text is wrapped.
    pub line: String,
    length: usize,
}

/// Returns a line in the form in which patterns are compared: lower case, without quotes, with single spaces.
#[must_use]
pub fn normal_line(line: &str) -> String {
    normal(line)
}

/// Returns the symptoms of a text, such as an event or the whole output of `kubectl describe pod`; the most specific
/// first.
///
/// Each line is searched on its own. If none of them contains an error, the text is also searched as one line, because
/// terminals wrap lines.
#[must_use]
pub fn find(text: &str) -> Vec<Match> {
    let mut found: Vec<Match> = Vec::new();
    let mut lines: Vec<&str> = Vec::new();
    for line in text.lines() {
        let normal = normal(line);
        if !is_about_image(&normal) {
            lines.push(line);
            add(&mut found, (line, &normal), None);
        }
    }
    let is_explained = |found: &Match| found.specificity >= Specificity::Error;
    if lines.len() > 1 && !found.iter().any(is_explained) {
        let joined = lines.join("\n");
        add(
            &mut found,
            (&joined, &normal(&joined)),
            Some(JOINED_DISTANCE),
        );
    }
    found.sort_by_key(|found| Reverse((found.specificity, found.length)));
    found
}

/// Returns whether a line in normal form reports that an image cannot be pulled: its errors are those of the registry, not of a probe.
fn is_about_image(normal: &str) -> bool {
    ["failed to pull image", "back-off pulling image"]
        .iter()
        .any(|text| normal.contains(text))
}

/// Adds the symptoms that a line shows, each with its most specific pattern. The line is given as written and in normal form.
fn add(found: &mut Vec<Match>, (line, normal): (&str, &str), distance: Option<usize>) {
    for symptom in all() {
        let patterns = symptom.patterns.iter();
        let matching = patterns.filter(|pattern| pattern.matches(normal, distance));
        let rank = |pattern: &&Pattern| (pattern.specificity, pattern.len());
        let Some(pattern) = matching.max_by_key(rank) else {
            continue;
        };
        let new = Match {
            symptom,
            specificity: pattern.specificity,
            line: line.trim().to_owned(),
            length: pattern.len(),
        };
        match found
            .iter_mut()
            .find(|known| known.symptom.id == symptom.id)
        {
            None => found.push(new),
            Some(known) if known.rank() < new.rank() => *known = new,
            Some(_) => {}
        }
    }
}

impl Match {
    /// Returns the match of a symptom that a user names by its id.
    #[must_use]
    pub fn named(symptom: &'static Symptom) -> Self {
        let patterns = symptom.patterns.iter();
        let specificity = patterns.map(|pattern| pattern.specificity).max();
        Self {
            symptom,
            specificity: specificity.unwrap_or(Specificity::State),
            line: symptom.title().to_owned(),
            length: 0,
        }
    }

    const fn rank(&self) -> (Specificity, usize) {
        (self.specificity, self.length)
    }
}
