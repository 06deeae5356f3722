//! The parameters of an ApplicationSet.

use std::borrow::Cow;

/// The parameters that a generator of an ApplicationSet fills in, such as `{{name}}`.
#[derive(Clone, Debug, Default)]
pub(super) struct Bindings(pub(super) Vec<(String, String)>);

impl Bindings {
    /// Returns `text` with every known parameter filled in.
    pub(super) fn fill<'a>(&self, text: &'a str) -> Cow<'a, str> {
        if self.0.is_empty() || !text.contains("{{") {
            return Cow::Borrowed(text);
        }
        let mut filled = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, inside)) = rest.split_once("{{") {
            let Some((name, after)) = inside.split_once("}}") else {
                break;
            };
            let parameter = name.trim().trim_start_matches('.');
            filled.push_str(before);
            match self.0.iter().find(|(known, _)| known == parameter) {
                Some((_, value)) => filled.push_str(value),
                None => filled.extend(["{{", name, "}}"]),
            }
            rest = after;
        }
        filled.push_str(rest);
        Cow::Owned(filled)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_of_a_generator_are_substituted() {
        let bindings = Bindings(vec![("rev".into(), "1-26".into())]);
        assert_eq!(bindings.fill("istio-{{ rev }}-{{.rev}}"), "istio-1-26-1-26");
        assert_eq!(bindings.fill("{{other}} {{"), "{{other}} {{");
    }
}
