//! Merges the explanations of one handler in several environments.

use std::sync::Arc;

use hashbrown::HashMap;

use super::explanation_lines::{Explanation, Line, Noted};
use super::shown::Shown;

/// Merges the explanations of each handler in all environments. A line or a reason that does not apply to all of them
/// names those to which it applies.
pub(super) fn merge_environments(shown: Vec<Shown<Explanation>>) -> Vec<Explanation> {
    let mut merged: Vec<Explanation> = Vec::new();
    let mut numbers = HashMap::new();
    for Shown {
        document,
        environment,
        item,
        ..
    } in shown
    {
        let next = merged.len();
        let Some(environment) = environment else {
            merged.push(item);
            continue;
        };
        let key = (document, item.title.clone(), item.place.clone());
        let number = *numbers.entry(key).or_insert(next);
        let item = item.within(&environment);
        match merged.get_mut(number) {
            // Several objects of one environment may have the same title.
            Some(first) if !first.environments.contains(&environment) => first.merge(item),
            _ => merged.push(item),
        }
    }
    merged.into_iter().map(Explanation::finished).collect()
}

impl Explanation {
    /// Names the environment in all parts of the explanation.
    fn within(mut self, environment: &Arc<str>) -> Self {
        self.environments.push(Arc::clone(environment));
        for line in &mut self.lines {
            line.environments.push(Arc::clone(environment));
            for reason in &mut line.because {
                reason.environments.push(Arc::clone(environment));
            }
        }
        self
    }

    /// Adds the lines of another environment. Lines with one name stay adjacent.
    fn merge(&mut self, other: Self) {
        let mut next = 0;
        for line in other.lines {
            let lines = &mut self.lines;
            let equal = lines.iter().position(|known| known.is_equal(&line));
            let of_name = lines.iter().rposition(|known| known.name == line.name);
            next = match (equal.and_then(|at| Some((at, lines.get_mut(at)?))), of_name) {
                (Some((at, known)), _) => {
                    known.merge(line);
                    at + 1
                }
                (None, at) => {
                    let at = at.map_or(next, |at| at + 1);
                    lines.insert(at, line);
                    at + 1
                }
            };
        }
        self.environments.extend(other.environments);
    }

    /// Omits the environments of parts that apply to all of them.
    fn finished(mut self) -> Self {
        let all = self.environments.len();
        let keep = |environments: &mut Vec<Arc<str>>| {
            if environments.len() == all {
                environments.clear();
            }
        };
        for line in &mut self.lines {
            line.because = merge_places(std::mem::take(&mut line.because));
            for reason in &mut line.because {
                // The reasons of a line that names its environments apply to the same ones.
                if reason.environments.len() == line.environments.len() {
                    reason.environments.clear();
                }
                keep(&mut reason.environments);
            }
            keep(&mut line.environments);
        }
        if all == 1 {
            self.environments.clear();
        }
        self
    }
}

impl Line {
    fn is_equal(&self, other: &Self) -> bool {
        (self.name, &self.value, self.certainty) == (other.name, &other.value, other.certainty)
    }

    fn merge(&mut self, other: Self) {
        for reason in other.because {
            let known = self
                .because
                .iter_mut()
                .find(|known| (&known.text, &known.places) == (&reason.text, &reason.places));
            match known {
                Some(Noted { environments, .. }) => environments.extend(reason.environments),
                None => self.because.push(reason),
            }
        }
        self.environments.extend(other.environments);
    }
}

/// Merges equal reasons of different environments that have different places.
fn merge_places(reasons: Vec<Noted>) -> Vec<Noted> {
    let mut merged: Vec<Noted> = Vec::new();
    for reason in reasons {
        let is_elsewhere = |known: &&mut Noted| {
            let mut environments = reason.environments.iter();
            known.text == reason.text && !environments.any(|name| known.environments.contains(name))
        };
        match merged.iter_mut().find(is_elsewhere) {
            Some(known) if !reason.environments.is_empty() => {
                known.places.extend(reason.places);
                known.environments.extend(reason.environments);
            }
            _ => merged.push(reason),
        }
    }
    merged
}
