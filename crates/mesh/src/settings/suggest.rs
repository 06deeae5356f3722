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

/// The maximum number of words that a message suggests.
const SUGGESTED: usize = 4;

/// Returns the known words that start with `given` and a hyphen; without one, those that contain it between hyphens.
fn with_words_of<'k>(given: &str, known: &[&'k str]) -> Vec<&'k str> {
    let given = given.to_lowercase();
    let starts = |word: &str| {
        let rest = word.strip_prefix(given.as_str());
        rest.is_some_and(|rest| rest.starts_with('-'))
    };
    let inner = format!("-{given}-");
    let contains = |word: &str| format!("-{word}-").contains(&inner);
    let select = |is_selected: &dyn Fn(&str) -> bool| -> Vec<&'k str> {
        let words = known.iter().copied();
        words.filter(|word| is_selected(word)).collect()
    };
    let first = select(&starts);
    match first.is_empty() && !given.is_empty() {
        true => select(&contains),
        false => first,
    }
}

/// The maximum number of words that a message lists. Only rules exceed it.
const LISTED: usize = 20;

/// Returns the message that `given` is not one of `known`, with the most similar word or all words.
#[must_use]
pub fn unknown_value_message(what: &str, given: &str, known: &[&str]) -> String {
    let mut likely = with_words_of(given, known);
    if likely.is_empty() || likely.len() > SUGGESTED {
        likely = most_similar(given, known.iter().copied())
            .into_iter()
            .collect();
    }
    let quoted: Vec<String> = likely.iter().map(|word| format!("`{word}`")).collect();
    match quoted.split_last() {
        Some((last, [])) => format!("unknown {what} `{given}`; did you mean {last}?"),
        Some((last, others)) => format!(
            "unknown {what} `{given}`; did you mean {} or {last}?",
            others.join(", ")
        ),
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
        let rules = [
            "tcp-probe-always-passes",
            "tcp-probe-needs-1-12",
            "probe-host",
            "osm-tcp-host-lost",
        ];
        for (given, suggested) in [
            (
                "tcp-probe",
                "`tcp-probe-always-passes` or `tcp-probe-needs-1-12`",
            ),
            ("always-passes", "`tcp-probe-always-passes`"),
            ("tcp", "`tcp-probe-always-passes` or `tcp-probe-needs-1-12`"),
        ] {
            assert_eq!(
                unknown_value_message("rule", given, &rules),
                format!("unknown rule `{given}`; did you mean {suggested}?")
            );
        }
        assert_eq!(
            unknown_value_message("rule", "zzz", &["a"; 21]),
            "unknown rule `zzz`; run `meshprobe rule` to list all rules"
        );
    }
}
