//! "Did you mean": the nearest known word.

/// Longer words are not compared, because that takes time in proportion to their length: bytes.
const LONGEST: usize = 128;

/// Returns the known word nearest to `given`, if one is near enough to be meant.
#[must_use]
pub fn nearest<'k>(given: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    if given.len() > LONGEST {
        return None;
    }
    let given = given.to_lowercase();
    known
        .into_iter()
        .map(|word| (strsim::jaro_winkler(&given, &word.to_lowercase()), word))
        .filter(|(likeness, _)| *likeness > 0.8)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, word)| word)
}

/// How many words a message lists; nobody reads more. Only rules are more.
const LISTED: usize = 20;

/// Says that `given` is not one of `known`, and which of them may be meant.
#[must_use]
pub fn not_one_of(what: &str, given: &str, known: &[&str]) -> String {
    match nearest(given, known.iter().copied()) {
        Some(word) => format!("unknown {what} `{given}`: did you mean `{word}`?"),
        None if known.len() > LISTED => {
            format!("unknown {what} `{given}`: `meshprobe rule` lists all")
        }
        None => format!("unknown {what} `{given}`: known are {}", listed(known)),
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
    fn near_words_are_suggested() {
        let known = ["injection", "mtls", "root-namespace"];
        assert_eq!(nearest("injektion", known), Some("injection"));
        assert_eq!(nearest("rootNamespace", known), Some("root-namespace"));
        assert_eq!(nearest("zzz", known), None);
        assert_eq!(
            not_one_of("fact", "zzz", &known),
            "unknown fact `zzz`: known are `injection`, `mtls`, `root-namespace`"
        );
        assert_eq!(
            not_one_of("rule", "zzz", &["a"; 21]),
            "unknown rule `zzz`: `meshprobe rule` lists all"
        );
    }
}
