//! Parses `kubectl label namespace NAME KEY=VALUE` and its relatives.

use meshprobe_yaml::{NodeRef, Span, Tree, parse_embedded};

use crate::context::shell_commands::{ShellCommand, Variables};

/// Kinds in front of the name of a Namespace.
const KINDS: [&str; 3] = ["namespace/", "namespaces/", "ns/"];

/// Options of kubectl with a value, without their first dash.
const TAKING_VALUE: [&str; 17] = [
    "n",
    "o",
    "s",
    "-as",
    "-as-group",
    "-cluster",
    "-context",
    "-field-manager",
    "-field-selector",
    "-kubeconfig",
    "-namespace",
    "-output",
    "-patch-file",
    "-request-timeout",
    "-resource-version",
    "-type",
    "-user",
];

/// A command that labels or annotates Namespaces.
#[derive(Default)]
pub(in crate::context) struct LabelCommand {
    pub(in crate::context) names: Vec<String>,
    /// Whether it is for all Namespaces, or for those with a label.
    pub(in crate::context) is_for_all: bool,
    /// Whether it is for a Namespace that is not known.
    pub(in crate::context) is_open: bool,
    /// Files with the objects.
    pub(in crate::context) files: Vec<String>,
    /// Labels and annotations; `None` for one that is removed.
    pub(in crate::context) pairs: Vec<(String, Option<String>)>,
    pub(in crate::context) overwrites: bool,
}

impl LabelCommand {
    /// Parses `kubectl label namespace NAME KEY=VALUE`, and the same with `annotate` and `patch`; `None` for any other
    /// command.
    pub(in crate::context) fn parse(command: &ShellCommand, variables: &Variables) -> Option<Self> {
        let mut words = command.words.iter();
        let calls = |word: &str| {
            let expanded = variables.expand(word).texts;
            is_client(word) || expanded.iter().any(|text| is_client(text))
        };
        words.find(|word| calls(word))?;
        let verb = words.find(|word| matches!(&***word, "label" | "annotate" | "patch"))?;
        let mut parsed = Self {
            overwrites: verb == "patch",
            ..Self::default()
        };
        let mut has_kind = false;
        while let Some(word) = words.next() {
            if let Some(option) = word.strip_prefix('-').filter(|rest| !rest.is_empty()) {
                let (name, value) = match option.split_once('=') {
                    Some((name, value)) => (name, Some(value)),
                    None => (option, None),
                };
                let mut value = || {
                    value
                        .or_else(|| words.next().map(String::as_str))
                        .unwrap_or_default()
                };
                match name {
                    "-all" => parsed.is_for_all = true,
                    "-overwrite" => parsed.overwrites = true,
                    "-dry-run" if option != "-dry-run=none" => return None,
                    "l" | "-selector" => {
                        value();
                        parsed.is_for_all = true;
                    }
                    "f" | "-filename" => parsed.files.extend(variables.expand(value()).texts),
                    "p" | "-patch" if verb == "patch" => {
                        let texts = variables.expand(value()).texts;
                        texts.iter().for_each(|text| parsed.add_patch(text));
                    }
                    _ if TAKING_VALUE.contains(&name) => {
                        value();
                    }
                    _ => {}
                }
                continue;
            }
            let expanded = variables.expand(word);
            if matches!(&**word, "namespace" | "namespaces" | "ns") {
                has_kind = true;
                continue;
            }
            let is_pair = word.contains('=');
            let takes_names = has_kind && parsed.pairs.is_empty() && !is_pair;
            let mut is_open = takes_names && expanded.is_open;
            for text in &expanded.texts {
                let name = KINDS.iter().find_map(|kind| text.strip_prefix(kind));
                has_kind |= name.is_some();
                if let Some((key, value)) = text.split_once('=') {
                    // A code span ends before the full stop of its sentence.
                    let value = value.trim_end_matches(['.', ',']);
                    parsed.pairs.push((key.to_owned(), Some(value.to_owned())));
                } else if let Some(key) = text.strip_suffix('-').filter(|_| name.is_none()) {
                    parsed.pairs.push((key.to_owned(), None));
                } else if name.is_some() || takes_names {
                    let name = name.unwrap_or(text);
                    match is_name(name) {
                        true => parsed.names.push(name.to_owned()),
                        false => is_open = true,
                    }
                }
            }
            // Words that only a part of is known: `ns/$NAME`.
            if expanded.texts.is_empty() && KINDS.iter().any(|kind| word.starts_with(kind)) {
                (has_kind, is_open) = (true, true);
            }
            parsed.is_open |= is_open;
        }
        (has_kind || !parsed.files.is_empty()).then_some(parsed)
    }

    /// Adds what a patch sets: a part of the object, or a list of JSON patches.
    fn add_patch(&mut self, text: &str) {
        let tree = parse_embedded(&text.into(), Span::new(0, text.len()));
        let Some(root) = tree
            .as_ref()
            .ok()
            .and_then(Option::as_ref)
            .and_then(Tree::root)
        else {
            return;
        };
        let value = |node: NodeRef<'_>| node.text().filter(|_| !node.is_null()).map(str::to_owned);
        for map in ["labels", "annotations"] {
            let set = root.get("metadata").and_then(|metadata| metadata.get(map));
            for entry in set.into_iter().flat_map(NodeRef::entries) {
                let key = entry.key.text().unwrap_or_default().to_owned();
                self.pairs.push((key, value(entry.value)));
            }
            let prefix = format!("/metadata/{map}/");
            for item in root.items() {
                let path = item.get("path").and_then(NodeRef::text).unwrap_or_default();
                if let Some(key) = path.strip_prefix(&prefix) {
                    let key = key.replace("~1", "/").replace("~0", "~");
                    self.pairs.push((key, item.get("value").and_then(value)));
                }
            }
        }
    }
}

/// Returns whether a word calls the client of a cluster, directly or through a variable.
fn is_client(word: &str) -> bool {
    let name = word.rsplit('/').next().unwrap_or_default();
    let is_word = !word.contains(char::is_whitespace);
    is_word && (matches!(name, "oc" | "k") || name.to_ascii_lowercase().contains("kubectl"))
}

fn is_name(text: &str) -> bool {
    let mut bytes = text.bytes();
    !text.is_empty()
        && bytes.all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
}
