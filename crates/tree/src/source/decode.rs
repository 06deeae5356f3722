//! Decoding of the bytes of a file to text.

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

use super::limits::ValueCount;
use super::manifest_keys::looks_like_kubernetes;
use crate::filesystem::FileSystem;
use crate::source::kustomization_name::is_kustomization;
use crate::source::model::fault::Fault;
use crate::source::model::file::SourceFile;

/// Sets the text of a file, parses it, and adds its values to `count`. Sets the fault of the file if the text is not UTF-8
/// or exceeds a limit.
pub(super) fn take_text(
    file: &mut SourceFile,
    bytes: Cow<'_, [u8]>,
    files: &FileSystem,
    count: &ValueCount,
) {
    (file.text, file.fault) = decode(&bytes);
    drop(bytes);
    file.chart_template = text_is_template(&file.text, file.disk_path.as_deref(), files);
    match &mut file.fault {
        Some(Fault::NotUtf8 { kubernetes }) => *kubernetes |= is_kustomization(&file.path),
        _ => file.parse_within(count),
    }
}

/// Returns whether a file is a template of a Helm chart. It is one even if it parses as YAML.
pub(super) fn text_is_template(text: &str, disk_path: Option<&Path>, files: &FileSystem) -> bool {
    text.contains("{{") && disk_path.is_some_and(|path| files.is_in_chart(path))
}

/// Decodes the bytes of a file, up to the first that is not UTF-8.
pub(super) fn decode(bytes: &[u8]) -> (Arc<str>, Option<Fault>) {
    match str::from_utf8(bytes) {
        Ok(text) => (text.into(), None),
        Err(error) => {
            let kubernetes = looks_like_kubernetes(&strip_utf16_zeros(bytes));
            let valid = bytes.get(..error.valid_up_to()).unwrap_or_default();
            let text = str::from_utf8(valid).unwrap_or_default();
            (text.into(), Some(Fault::NotUtf8 { kubernetes }))
        }
    }
}

/// Removes the zero bytes of UTF-16, which is sufficient to recognize a manifest.
pub(super) fn strip_utf16_zeros(bytes: &[u8]) -> Cow<'_, [u8]> {
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
    fn text_is_kept_up_to_the_first_invalid_byte() {
        let (text, fault) = decode(b"apiVersion: v1\nkind: Pod\nx: \xff\n");
        assert_eq!(&*text, "apiVersion: v1\nkind: Pod\nx: ");
        assert_eq!(fault, Some(Fault::NotUtf8 { kubernetes: true }));
    }
}
