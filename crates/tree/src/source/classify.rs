//! Parses documents and classifies their content.
//!
//! Recognition of Kubernetes manifests in text that was not parsed.
//!
//! Names of kustomization files.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use memchr::{memchr_iter, memmem};
use meshprobe_yaml as yaml;
use meshprobe_yaml::{Ambiguity, Kind, NodeRef, Span, SyntaxError, Tree};

use super::model::document::{Content, Document};
use super::model::file::SourceFile;
use super::model::objects;
use super::template_marker;
use crate::filesystem::FileSystem;

/// Parses and classifies the document of a file with the bytes `segment` and at most `max_nodes` nodes.
pub(in crate::source) fn read_document(
    file: &SourceFile,
    index: usize,
    segment: Span,
    max_nodes: usize,
) -> Document {
    let (content, ambiguities) = read_content(file, segment, max_nodes);
    let root = match &content {
        Content::Tree(tree) => tree.root(),
        _ => None,
    };
    let encrypted = root.is_some_and(is_encrypted);
    Document {
        path: Arc::clone(&file.path),
        index,
        segment,
        content,
        patch: false,
        encrypted,
        ambiguities,
    }
}

fn read_content(file: &SourceFile, segment: Span, max_nodes: usize) -> (Content, Vec<Ambiguity>) {
    let source = segment.slice(&file.text);
    if file.chart_template {
        return (Content::Template, Vec::new());
    }
    if is_other_json(file, source.as_bytes()) {
        return (Content::NotKubernetes, Vec::new());
    }
    match yaml::parse_within(&file.text, segment, max_nodes).and_then(yaml::check_expanded_size) {
        Ok(None) => (Content::Empty, Vec::new()),
        Ok(Some(tree)) => {
            let tree = Arc::new(tree);
            let content = classify(&tree, &file.path, source);
            let ambiguities = match content {
                Content::Tree(_) => yaml::ambiguities(&tree),
                // What another tool renders is not what kubectl reads.
                _ => Vec::new(),
            };
            (content, ambiguities)
        }
        Err(error) if error.is_over_limit() => {
            let kubernetes =
                is_kustomization(&file.path) || looks_like_kubernetes(source.as_bytes());
            (Content::Broken { error, kubernetes }, Vec::new())
        }
        Err(error) => {
            let offset = error.offset.saturating_sub(segment.start);
            let is_template = template_marker::is_template(source, offset, max_nodes);
            let content = unparsed(&file.path, source, error, is_template);
            (content, Vec::new())
        }
    }
}

/// Keys that every Kubernetes object has.
const OBJECT_KEYS: [&str; 2] = ["apiVersion", "kind"];

/// Classifies a text that only libyaml, the parser of kubectl, may be able to parse.
fn unparsed(path: &str, source: &str, error: SyntaxError, is_template: bool) -> Content {
    let keys = yaml::first_document_keys(source).unwrap_or_default();
    let has_keys = OBJECT_KEYS
        .iter()
        .all(|key| keys.iter().any(|found| found == key));
    let kubernetes = has_keys || looks_like_kubernetes(source.as_bytes());
    // A text that is not passed to libyaml is a manifest if it looks like one.
    let is_manifest = has_keys || (kubernetes && yaml::has_too_many_brackets(source));
    if !is_manifest && is_template {
        return Content::Template;
    }
    Content::Broken {
        error,
        // A kustomization does not need these keys.
        kubernetes: kubernetes || is_kustomization(path),
    }
}

fn classify(tree: &Arc<Tree>, path: &str, source: &str) -> Content {
    let Some(root) = tree.root() else {
        return Content::Empty;
    };
    let is_template = source.contains("{{") && has_template_key(root)
        || ["#@ ", "#{"]
            .into_iter()
            .any(|start| source.contains(start))
            && has_value_in_comment(root, tree.text());
    if is_template {
        return Content::Template;
    }
    let has_keys = OBJECT_KEYS.iter().all(|key| root.get(key).is_some());
    let is_object = has_keys || objects::is_list_without_version(root);
    if is_object || (root.is_mapping() && is_kustomization(path)) {
        Content::Tree(Arc::clone(tree))
    } else if root.is_mapping() {
        Content::Plain(Arc::clone(tree))
    } else if root.is_null() || (root.is_sequence() && root.items().len() == 0) {
        Content::Empty
    } else {
        Content::NotKubernetes
    }
}

/// Returns whether a key is a mapping. `{{ .Values.x }}` without quotes is such a key: valid YAML that no
/// Kubernetes tool accepts.
fn has_template_key(node: NodeRef<'_>) -> bool {
    match node.kind() {
        Kind::Mapping => node
            .entries()
            .any(|entry| entry.key.kind() == Kind::Mapping || has_template_key(entry.value)),
        Kind::Sequence => node.items().any(has_template_key),
        Kind::Scalar | Kind::Alias => false,
    }
}

/// Returns whether another tool replaces a value: the value is missing, and an expression of ytt, or a token such as
/// `#{PORT}#`, is in a comment in its place.
///
/// Source: ytt documentation, "Syntax".
fn has_value_in_comment(node: NodeRef<'_>, text: &str) -> bool {
    let is_replaced = |key: NodeRef<'_>| {
        let behind = text.get(key.span().end..).unwrap_or_default();
        let line = behind.lines().next().unwrap_or_default();
        let value = line.trim_start_matches(['"', '\'', ' ']).strip_prefix(':');
        value.is_some_and(|value| template_marker::is_value_in_comment(value.trim_start()))
    };
    node.entries().any(|entry| {
        entry.value.is_null() && is_replaced(entry.key) || has_value_in_comment(entry.value, text)
    }) || node.items().any(|item| has_value_in_comment(item, text))
}

/// Returns whether SOPS has encrypted a document. SOPS stores its data under the key `sops`, with a checksum (`mac`) of
/// all values.
fn is_encrypted(root: NodeRef<'_>) -> bool {
    root.get("sops")
        .is_some_and(|sops| sops.get("mac").is_some() || sops.get("lastmodified").is_some())
}

fn is_json(path: &str) -> bool {
    path.rsplit('.')
        .next()
        .is_some_and(|end| end.eq_ignore_ascii_case("json"))
}

/// Returns whether a text is JSON that is not parsed, because it is not a manifest. Trees contain many JSON files with
/// comments (tsconfig.json).
pub(in crate::source) fn is_other_json(file: &SourceFile, source: &[u8]) -> bool {
    !file.explicit && is_json(&file.path) && !may_be_json_manifest(source)
}

fn mentions_kubernetes(source: &[u8]) -> bool {
    memmem::find(source, b"apiVersion").is_some()
}

/// Returns whether JSON can be a manifest: it contains the key `apiVersion`, or escaped letters (`\u0061`). Includes
/// the escapes of YAML, because kubectl parses text that does not start with a brace as YAML.
fn may_be_json_manifest(source: &[u8]) -> bool {
    let escapes = memmem::find_iter(source, b"\\u00");
    let digit = |at: usize| source.get(at + 4).copied();
    let has = |part: &str| memmem::find(source, part.as_bytes()).is_some();
    mentions_kubernetes(source)
        || escapes
            .map(digit)
            .any(|digit| matches!(digit, Some(b'4'..=b'7')))
        || ["\\x", "\\U", "!!binary"].into_iter().any(has)
}

/// Returns whether a text contains the words of a manifest anywhere, because keys in JSON and flow style do not start a
/// line, or looks like a manifest with escaped letters.
pub(in crate::source) fn mentions_manifest(source: &[u8]) -> bool {
    let has_words = mentions_kubernetes(source) && memmem::find(source, b"kind").is_some();
    has_words || looks_like_kubernetes(source)
}

/// Byte sequences after which a line starts: the line breaks of YAML 1.1, and a byte order mark.
const STARTS: [&[u8]; 6] = [
    b"\n",
    b"\r",
    "\u{feff}".as_bytes(),
    "\u{85}".as_bytes(),
    "\u{2028}".as_bytes(),
    "\u{2029}".as_bytes(),
];

/// Returns whether a text that cannot be parsed is probably a Kubernetes manifest: it has `apiVersion:` and `kind:` at
/// the start of a line, with or without quotes, or as quoted keys in JSON. Letters in double quotes may be escaped.
pub(super) fn looks_like_kubernetes(source: &[u8]) -> bool {
    let start = source.trim_ascii_start();
    // A template may start with `{{`.
    let json = start.starts_with(b"{") && !start.starts_with(b"{{");
    let has = |key: &str| match json {
        true => has_quoted(source, key, |_, _| true),
        false => has_line(source, key),
    };
    has("apiVersion") && has("kind")
}

/// Returns whether a line starts with a key.
fn has_line(source: &[u8], key: &str) -> bool {
    let starts_line = |at: usize| {
        let before = source.get(..at).unwrap_or_default();
        before.is_empty() || STARTS.iter().any(|start| before.ends_with(start))
    };
    let has_plain = ["", "'"].iter().any(|quote| {
        let needle = format!("{quote}{key}{quote}:");
        memmem::find_iter(source, &needle).any(starts_line)
    });
    has_plain
        || has_quoted(source, key, |at, end| {
            source.get(end) == Some(&b':') && starts_line(at)
        })
}

/// Returns whether a text contains a key in double quotes for which `accepts` returns `true`. `accepts` receives the
/// offsets of the first quote and of the end after the last quote.
fn has_quoted(source: &[u8], key: &str, accepts: impl Fn(usize, usize) -> bool) -> bool {
    memchr_iter(b'"', source).any(|at| {
        let end = key.bytes().chain([b'"']).try_fold(at + 1, |at, expected| {
            let (byte, length) = character(source.get(at..)?)?;
            (byte == expected).then_some(at + length)
        });
        end.is_some_and(|end| accepts(at, end))
    })
}

/// Returns the character, up to U+00FF, at the start of a text in double quotes, and its number of bytes in the text.
fn character(text: &[u8]) -> Option<(u8, usize)> {
    let digits = match text {
        [b'\\', b'x', ..] => 2,
        [b'\\', b'u', ..] => 4,
        [b'\\', b'U', ..] => 8,
        [] | [b'\\', ..] => return None,
        [byte, ..] => return Some((*byte, 1)),
    };
    let end = 2 + digits;
    let digits = std::str::from_utf8(text.get(2..end)?).ok()?;
    let code = u32::from_str_radix(digits, 16).ok()?;
    Some((u8::try_from(code).ok()?, end))
}

/// File names that kustomize searches for, in this order.
pub(in crate::source) const NAMES: [&str; 3] =
    ["kustomization.yaml", "kustomization.yml", "Kustomization"];

/// Returns whether the path has the name of a kustomization.
#[must_use]
pub fn is_kustomization(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    NAMES.contains(&name)
}

impl FileSystem {
    /// Returns the kustomization file in a folder, if there is one.
    #[must_use]
    pub fn kustomization_in(&self, folder: &Path) -> Option<PathBuf> {
        NAMES
            .iter()
            .map(|name| folder.join(name))
            .find(|path| self.is_file(path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contents(text: &str) -> Vec<Content> {
        let file = SourceFile::new(Arc::from("x.yaml"), Arc::from(text));
        file.documents
            .into_iter()
            .map(|document| document.content)
            .collect()
    }

    #[test]
    fn documents_are_classified_by_their_content() {
        let all = contents(
            "# c\n---\na: 1\n---\napiVersion: v1\nkind: Pod\n---\na: [\n---\napiVersion: v1\nkind: Pod\nx: [\n---\n{{- if x }}\n---\nx: {{ y }}\n",
        );
        assert!(
            matches!(
                all.as_slice(),
                [
                    Content::Plain(_),
                    Content::Tree(_),
                    Content::Broken {
                        kubernetes: false,
                        ..
                    },
                    Content::Broken {
                        kubernetes: true,
                        ..
                    },
                    Content::Template,
                    Content::Template,
                ]
            ),
            "{all:?}"
        );
        for empty in ["# only\n", "null\n", "~ # c\n", "[]\n"] {
            assert!(
                matches!(contents(empty).as_slice(), [Content::Empty]),
                "{empty}"
            );
        }
    }

    #[test]
    fn encrypted_documents_are_marked() {
        let text = "apiVersion: v1\nkind: Secret\nsops:\n  mac: ENC[AES256_GCM]\n";
        let file = SourceFile::new(Arc::from("x.yaml"), Arc::from(text));
        assert!(file.documents[0].encrypted);
    }
}
