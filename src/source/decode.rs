//! From the bytes of a file to its text.

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

use super::chart::is_in_chart;
use super::document::is_other_json;
use super::file::{Fault, SourceFile};
use super::kustomization::is_kustomization;
use super::manifest_keys::looks_like_kubernetes;
use super::memory_budget::MemoryBudget;
use super::parse_budget::can_parse;

/// Gives a file its text, parsed; it is a fault of the file if the text is not UTF-8 or `budget` has no room for it.
pub(super) fn take_text(file: &mut SourceFile, bytes: Cow<'_, [u8]>, budget: &MemoryBudget) {
    // The text is a copy of the bytes, so what cannot be parsed is not copied.
    if !is_other_json(file, &bytes) && !can_parse(bytes.len(), budget) {
        budget.refuse();
        file.fault = Some(file.too_large(&bytes, budget));
        return;
    }
    (file.text, file.fault) = decode(&bytes);
    drop(bytes);
    file.chart_template = text_is_template(&file.text, file.lies_at.as_deref());
    match &mut file.fault {
        Some(Fault::NotUtf8 { kubernetes }) => *kubernetes |= is_kustomization(&file.path),
        _ => file.parse_within(budget),
    }
}

/// A file of a Helm chart is a template even where it happens to parse as YAML.
fn text_is_template(text: &str, lies_at: Option<&Path>) -> bool {
    text.contains("{{") && lies_at.is_some_and(is_in_chart)
}

fn decode(bytes: &[u8]) -> (Arc<str>, Option<Fault>) {
    match str::from_utf8(bytes) {
        Ok(text) => (text.into(), None),
        Err(error) => {
            let kubernetes = looks_like_kubernetes(&narrow(bytes));
            let valid = bytes.get(..error.valid_up_to()).unwrap_or_default();
            let text = str::from_utf8(valid).unwrap_or_default();
            (text.into(), Some(Fault::NotUtf8 { kubernetes }))
        }
    }
}

/// UTF-16 without its zeros: enough to know a manifest by.
pub(super) fn narrow(bytes: &[u8]) -> Cow<'_, [u8]> {
    match bytes {
        [0xff, 0xfe, text @ ..] | [0xfe, 0xff, text @ ..] => {
            text.iter().copied().filter(|byte| *byte != 0).collect()
        }
        _ => Cow::Borrowed(bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_kept_up_to_the_first_bad_byte() {
        let (text, fault) = decode(b"apiVersion: v1\nkind: Pod\nx: \xff\n");
        assert_eq!(&*text, "apiVersion: v1\nkind: Pod\nx: ");
        assert_eq!(fault, Some(Fault::NotUtf8 { kubernetes: true }));
    }
}
