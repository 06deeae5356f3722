//! Labels and annotations that scripts and pages of the tree set on Namespaces: `kubectl label namespace shop
//! istio-injection=enabled`.

use hashbrown::HashMap;

use crate::finding::Label;
use crate::mesh::Mesh;
use crate::mesh::detect::enabled_mesh;
use crate::source::paths::{folder, is_within};
use crate::source::{SourceFile, SourceSet, labels_objects, placeholder};
use crate::yaml::Span;

/// A command that adds a Namespace to a mesh.
#[derive(Clone, Debug)]
pub(in crate::context) struct ScriptLabel {
    pub(in crate::context) mesh: Mesh,
    /// The label or annotation.
    pub(in crate::context) key: String,
    /// The line of the command.
    pub(in crate::context) place: Label,
}

/// The commands of a tree, by the name of the Namespace.
#[derive(Debug, Default)]
pub(in crate::context) struct NamespaceScripts {
    by_name: HashMap<String, Vec<ScriptLabel>>,
    /// Commands for all Namespaces, or for one that is not known.
    of_any: Vec<ScriptLabel>,
}

impl NamespaceScripts {
    /// Reads the commands of the scripts among the files, and of the workflows of a build server.
    pub(in crate::context) fn of(sources: &SourceSet) -> Self {
        let mut found = Self::default();
        let is_script = |file: &&SourceFile| {
            let is_text = file.documents.is_empty() && !file.text.is_empty();
            is_text || is_workflow(&file.path) && labels_objects(&file.text)
        };
        for file in sources.files.iter().filter(is_script) {
            found.read(file);
        }
        found
    }

    /// Iterates over the commands for a namespace, then over those for any one that are in a folder above the file `home`.
    pub(in crate::context) fn of_namespace<'s>(
        &'s self,
        name: &str,
        home: &'s str,
    ) -> impl Iterator<Item = &'s ScriptLabel> + use<'s> {
        let named = self.by_name.get(name).into_iter().flatten();
        let is_above =
            move |label: &&ScriptLabel| is_within(folder(home), folder(&label.place.path));
        named.chain(self.of_any.iter().filter(is_above))
    }

    fn read(&mut self, file: &SourceFile) {
        let variables = assignments(&file.text);
        for (span, line) in logical_lines(&file.text) {
            let Some(command) = Command::parse(&line) else {
                continue;
            };
            for (key, value) in command.pairs {
                let Some(mesh) = enabled_mesh(key, value) else {
                    continue;
                };
                let label = ScriptLabel {
                    mesh,
                    key: key.to_owned(),
                    place: Label {
                        path: file.path.clone(),
                        span,
                        message: format!("this command sets `{key}={value}`"),
                    },
                };
                if command.is_for_all {
                    self.of_any.push(label.clone());
                }
                for name in &command.names {
                    self.add(file, &variables, name, &label);
                }
            }
        }
    }

    fn add(
        &mut self,
        file: &SourceFile,
        variables: &HashMap<&str, Vec<&str>>,
        name: &str,
        label: &ScriptLabel,
    ) {
        let variable = name.strip_prefix('$');
        let variable = variable.map(|name| name.trim_matches(['{', '}', '(', ')', '$']));
        let values = match variable {
            Some(variable) => {
                let name = variable.split([':', '-']).next().unwrap_or_default();
                variables.get(name).cloned().unwrap_or_default()
            }
            None => vec![name],
        };
        let is_name = |name: &&str| {
            let mut bytes = name.bytes();
            !name.is_empty() && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
        };
        let known: Vec<&str> = values.into_iter().filter(is_name).collect();
        // A page has placeholders for names that the reader chooses.
        if known.is_empty() && variable.is_some() && !file.path.ends_with(".md") {
            self.of_any.push(label.clone());
        }
        for name in known
            .into_iter()
            .filter(|name| !placeholder::contains(name))
        {
            let labels = self.by_name.entry_ref(name).or_default();
            labels.push(label.clone());
        }
    }
}

/// A command that labels or annotates Namespaces.
struct Command<'l> {
    names: Vec<&'l str>,
    is_for_all: bool,
    pairs: Vec<(&'l str, &'l str)>,
}

impl<'l> Command<'l> {
    /// Parses a line with `kubectl label namespace NAME KEY=VALUE`; `None` for any other line.
    fn parse(line: &'l str) -> Option<Self> {
        let quotes = ['"', '\'', '`', '(', ')', ';'];
        let mut words = line
            .split_whitespace()
            .map(|word| word.trim_matches(quotes));
        words.find(|word| is_client(word))?;
        words.find(|word| matches!(*word, "label" | "annotate"))?;
        let mut command = Self {
            names: Vec::new(),
            is_for_all: false,
            pairs: Vec::new(),
        };
        let mut has_kind = false;
        for word in words {
            if matches!(word, "&&" | "||" | "|" | "#") {
                break;
            }
            if matches!(word, "namespace" | "namespaces" | "ns") {
                has_kind = true;
            } else if word == "--all" {
                command.is_for_all = true;
            } else if word.starts_with('-') || word.ends_with('-') {
                // An option, or a key that is removed.
            } else if let Some((key, value)) = word.split_once('=') {
                // A code span ends before the full stop of its sentence.
                let value = value.trim_start_matches(quotes);
                let value = value.split(quotes).next().unwrap_or_default();
                command.pairs.push((key, value));
            } else if let Some(name) = word
                .strip_prefix("namespace/")
                .or_else(|| word.strip_prefix("ns/"))
            {
                has_kind = true;
                command.names.push(name);
            } else if has_kind && command.pairs.is_empty() {
                command.names.push(word);
            }
        }
        has_kind.then_some(command)
    }
}

/// Returns whether a word calls the client of a cluster, directly or through a variable.
fn is_client(word: &str) -> bool {
    let name = word.rsplit('/').next().unwrap_or_default();
    matches!(name, "oc" | "k") || name.to_ascii_lowercase().contains("kubectl")
}

/// Returns whether a file describes jobs of a build server.
fn is_workflow(path: &str) -> bool {
    [
        ".github/",
        ".gitlab-ci",
        ".circleci/",
        "azure-pipelines",
        "Taskfile",
        ".tekton/",
    ]
    .iter()
    .any(|part| path.contains(part))
}

/// Splits a text into lines, each joined with those that it continues in, with the bytes of its first line.
fn logical_lines(text: &str) -> Vec<(Span, String)> {
    let mut lines: Vec<(Span, String)> = Vec::new();
    let mut start = 0;
    let mut is_continued = false;
    for line in text.split_inclusive('\n') {
        let shown = line.trim_end();
        let (part, continues) = match shown.strip_suffix('\\') {
            Some(part) => (part, true),
            None => (shown, false),
        };
        let last = lines.last_mut().filter(|_| is_continued);
        match last {
            Some((_, joined)) => {
                joined.push(' ');
                joined.push_str(part);
            }
            None => {
                let indent = part.len() - part.trim_start().len();
                let span = Span::new(start + indent, start + part.len());
                lines.push((span, part.to_owned()));
            }
        }
        is_continued = continues;
        start += line.len();
    }
    lines
}

/// Returns the values of variables that are assigned a text: `NS=shop`, `NS ?= shop`, `for NS in shop cart`.
fn assignments(text: &str) -> HashMap<&str, Vec<&str>> {
    let mut found: HashMap<&str, Vec<&str>> = HashMap::new();
    for line in text.lines() {
        let line = line.trim();
        let line = line.strip_prefix("export ").unwrap_or(line);
        if let Some((name, values)) = line
            .strip_prefix("for ")
            .and_then(|rest| rest.split_once(" in "))
        {
            let values = values.split([';', '#']).next().unwrap_or_default();
            let known = found.entry(name.trim()).or_default();
            known.extend(
                values
                    .split_whitespace()
                    .map(|value| value.trim_matches(['"', '\''])),
            );
            continue;
        }
        let Some((name, value)) = line.split_once('=') else {
            continue;
        };
        let name = name.trim_end_matches([' ', '?', ':', '+']);
        let is_name = !name.is_empty()
            && name
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        if is_name {
            let value = value.trim().trim_matches(['"', '\'']);
            let default = value
                .rsplit_once(":-")
                .map(|(_, default)| default.trim_end_matches('}'));
            found
                .entry(name)
                .or_default()
                .push(default.unwrap_or(value));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labelled(path: &str, text: &str) -> (Vec<String>, usize) {
        let mut file = SourceFile::new(path.into(), text.into());
        file.documents = Vec::new();
        let scripts = NamespaceScripts::of(&SourceSet::new(vec![file]));
        let mut names: Vec<String> = scripts.by_name.into_keys().collect();
        names.sort();
        (names, scripts.of_any.len())
    }

    #[test]
    fn commands_name_their_namespaces() {
        let key = "istio-injection=enabled";
        for (text, names, any) in [
            (
                format!("kubectl label namespace shop {key}"),
                vec!["shop"],
                0,
            ),
            (
                format!("  $ kubectl label ns shop cart {key} --overwrite"),
                vec!["cart", "shop"],
                0,
            ),
            (
                format!("kubectl --context x label --overwrite namespace/shop \\\n  {key}"),
                vec!["shop"],
                0,
            ),
            (
                format!("NS=shop\nkubectl label ns \"${{NS}}\" {key}"),
                vec!["shop"],
                0,
            ),
            (
                format!("for ns in a b; do\n  kubectl label ns $ns {key}\ndone"),
                vec!["a", "b"],
                0,
            ),
            (format!("kubectl label namespace --all {key}"), vec![], 1),
            (format!("kubectl label ns $1 {key}"), vec![], 1),
            (
                format!("Run `kubectl label ns shop {key}`."),
                vec!["shop"],
                0,
            ),
            (
                "oc annotate ns shop linkerd.io/inject=enabled".to_owned(),
                vec!["shop"],
                0,
            ),
            (
                "kubectl label ns shop istio-injection-".to_owned(),
                vec![],
                0,
            ),
            (
                "kubectl label ns shop istio-injection=disabled".to_owned(),
                vec![],
                0,
            ),
            (format!("kubectl label pod shop {key}"), vec![], 0),
            (format!("# label namespace shop {key}"), vec![], 0),
        ] {
            let expected = (names.into_iter().map(str::to_owned).collect(), any);
            assert_eq!(labelled("a.sh", &text), expected, "{text}");
        }
        assert_eq!(
            labelled("a.md", &format!("kubectl label ns <name> {key}")),
            (vec![], 0)
        );
        assert_eq!(
            labelled("a.md", &format!("kubectl label ns $NS {key}")),
            (vec![], 0)
        );
    }
}
