//! Whether a pasted text is about a predicted probe.

use meshprobe_mesh::finding::Finding;

use crate::symptoms::pattern::{Specificity, comparable};
use crate::symptoms::search::{Match, find};

/// A pasted text with its best matches.
#[derive(Debug)]
pub struct Pasted<'a> {
    comparable: String,
    best: Vec<&'a Match>,
}

impl<'a> Pasted<'a> {
    /// Prepares the comparison of a text, in which these symptoms were found.
    #[must_use]
    pub fn new(text: &str, found: &'a [Match]) -> Self {
        let specificity = found.first().map(|best| best.specificity);
        let best = found.iter();
        let best = best.filter(|found| Some(found.specificity) == specificity);
        Self {
            comparable: comparable(text),
            best: best.collect(),
        }
    }

    /// Returns whether the text contains the predicted text, apart from addresses.
    #[must_use]
    pub fn contains(&self, predicted: &str) -> bool {
        self.comparable.contains(&comparable(predicted))
    }

    /// Returns whether the predicted text of a probe has one of the symptoms. If no text is predicted, or the pasted text
    /// does not contain the error, the findings about the probe decide.
    #[must_use]
    pub fn is_similar(&self, kubelet: Option<&str>, reported: &[&Finding]) -> bool {
        let predicted = kubelet.map(find).unwrap_or_default();
        self.best.iter().any(|pasted| {
            let symptom = pasted.symptom;
            let leads_to = predicted
                .first()
                .is_some_and(|best| best.symptom.id == symptom.id);
            let is_open = kubelet.is_none() || pasted.specificity < Specificity::Error;
            let names = || reported.iter().any(|finding| symptom.explains(finding));
            leads_to || (is_open && names())
        })
    }
}
