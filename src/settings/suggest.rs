//! Suggestions for misspelt words.

/// The length in bytes of the longest word that is compared: a comparison takes time in proportion to the length.
const LONGEST: usize = 128;

/// Returns the known word that is most similar to `given`; `None` if no word is similar enough.
#[must_use]
pub fn most_similar<'k>(given: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    if given.len() > LONGEST {
        return None;
    }
    let given = given.to_lowercase();
    known
        .into_iter()
        .map(|word| (strsim::jaro_winkler(&given, &word.to_lowercase()), word))
        .filter(|(similarity, _)| *similarity > 0.8)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, word)| word)
}

/// The maximum number of words that a message lists. Only rules exceed it.
const LISTED: usize = 20;

/// Returns the message that `given` is not one of `known`, with the most similar word or all words.
#[must_use]
pub fn unknown_value_message(what: &str, given: &str, known: &[&str]) -> String {
    match most_similar(given, known.iter().copied()) {
        Some(word) => format!("unknown {what} `{given}`; did you mean `{word}`?"),
        None if known.len() > LISTED => {
            format!("unknown {what} `{given}`; run `meshprobe rule` to list all rules")
        }
        None => format!(
            "unknown {what} `{given}`; expected one of {}",
            listed(known)
        ),
    }
}

fn listed(words: &[&str]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
    quoted.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn similar_words_are_suggested() {
        let known = ["injection", "mtls", "root-namespace"];
        assert_eq!(most_similar("injektion", known), Some("injection"));
        assert_eq!(most_similar("rootNamespace", known), Some("root-namespace"));
        assert_eq!(most_similar("zzz", known), None);
        assert_eq!(
            unknown_value_message("key", "zzz", &known),
            "unknown key `zzz`; expected one of `injection`, `mtls`, `root-namespace`"
        );
        assert_eq!(
            unknown_value_message("rule", "zzz", &["a"; 21]),
            "unknown rule `zzz`; run `meshprobe rule` to list all rules"
        );
    }
}
