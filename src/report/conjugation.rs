//! Conjugates messages about one probe for several.

/// Verb forms that are not regular, or equal in the plural.
const IRREGULAR: &[(&str, &str)] = &[
    ("does", "do"),
    ("has", "have"),
    ("is", "are"),
    ("may", "may"),
    ("will", "will"),
];

/// Words that may precede the verb.
const ADVERBS: &[&str] = &["always", "also", "never", "only"];

/// Returns the predicate of a message for several subjects, such as " always succeed: …" for " always succeeds: …". Returns
/// `None` if the text refers to one probe, or if the verb is not recognized.
pub(super) fn plural(predicate: &str) -> Option<String> {
    let text = predicate.replace("the probe is", "the probes are");
    let is_singular = |word: &str| matches!(word, "it" | "its" | "itself" | "probe");
    let mut words = text.split(|c: char| !c.is_alphanumeric() && c != '`');
    if words.any(is_singular) {
        return None;
    }
    let mut text = text.strip_prefix(' ')?;
    let mut start = String::from(" ");
    while let Some((adverb, rest)) = text.split_once(' ')
        && ADVERBS.contains(&adverb)
    {
        start.push_str(adverb);
        start.push(' ');
        text = rest;
    }
    let end = text.find([' ', ':', ',', ';']).unwrap_or(text.len());
    let (verb, rest) = text.split_at_checked(end)?;
    Some(format!("{start}{}{rest}", plural_verb(verb)?))
}

/// Returns the text after the number of a port for several ports, such as " require mutual TLS" for " requires mutual TLS".
pub(super) fn ports_verb(text: &str) -> String {
    for (singular, plural) in [(" requires ", " require "), (" is ", " are ")] {
        if let Some(rest) = text.strip_prefix(singular) {
            return format!("{plural}{rest}");
        }
    }
    text.to_owned()
}

fn plural_verb(verb: &str) -> Option<&str> {
    if let Some((_, plural)) = IRREGULAR.iter().find(|(singular, _)| *singular == verb) {
        return Some(plural);
    }
    let sibilant = ["sses", "shes", "ches"]
        .iter()
        .any(|end| verb.ends_with(end));
    let stem = verb.strip_suffix(if sibilant { "es" } else { "s" })?;
    let is_verb = !stem.is_empty() && stem.chars().all(|c| c.is_ascii_lowercase());
    (is_verb && !stem.ends_with('s') || sibilant).then_some(stem)
}

#[cfg(test)]
mod tests {
    use super::plural;

    #[test]
    fn verbs_are_conjugated() {
        let plural = |text: &str| plural(text);
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(plural(" will fail: x"), some(" will fail: x"));
        assert_eq!(plural(" always succeeds: x"), some(" always succeed: x"));
        assert_eq!(plural(" passes"), some(" pass"));
        assert_eq!(plural(" is denied: x"), some(" are denied: x"));
        assert_eq!(
            plural(" will fail: x, and the probe is not rewritten"),
            some(" will fail: x, and the probes are not rewritten")
        );
    }

    #[test]
    fn other_texts_are_left_out() {
        for text in [
            "",
            " sends its request",
            " fails: a, so it fails",
            " 8 x",
            " x",
            ": the probe",
        ] {
            assert_eq!(plural(text), None, "{text}");
        }
    }
}
