//! Labels and annotations that scripts and pages of the tree set on Namespaces: `kubectl label namespace shop
//! istio-injection=enabled`.

use hashbrown::{HashMap, HashSet};
use meshprobe_mesh::finding::Label;
use meshprobe_mesh::mesh::Mesh;
use meshprobe_mesh::mesh::detect::enabled_mesh;
use meshprobe_tree::source::paths::{folder, is_within};
use meshprobe_tree::source::{Content, SourceFile, SourceSet, labels_objects};
use meshprobe_yaml::{NodeRef, Span};

use crate::context::label_command::LabelCommand;
use crate::context::shell_commands::{ShellCommand, Variables, commands};

/// A command that adds a Namespace to a mesh.
#[derive(Clone, Debug)]
pub(in crate::context) struct ScriptLabel {
    pub(in crate::context) mesh: Mesh,
    /// The label or annotation.
    pub(in crate::context) key: String,
    /// Whether it replaces the value of a manifest.
    pub(in crate::context) overwrites: bool,
    /// The line of the command.
    pub(in crate::context) place: Label,
}

/// The commands of a tree, by the name of the Namespace.
#[derive(Debug, Default)]
pub(in crate::context) struct NamespaceScripts {
    by_name: HashMap<String, Vec<ScriptLabel>>,
    /// Commands for all Namespaces, or for one that is not known.
    of_any: Vec<ScriptLabel>,
    /// The names of the Namespaces in the tree.
    namespaces: HashSet<String>,
}

/// The most nodes of a workflow that are read.
const NODES: usize = 100_000;

/// The Namespace of a command; `None` for any.
type Target = Option<String>;

impl NamespaceScripts {
    /// Reads the commands of the scripts among the files, and of the workflows of a build server.
    pub(in crate::context) fn of(sources: &SourceSet) -> Self {
        let mut found = Self::default();
        for file in &sources.files {
            let is_script = file.documents.is_empty() && !file.text.is_empty();
            let is_workflow = || is_workflow(&file.path) && labels_objects(&file.text);
            if !is_script && !is_workflow() {
                continue;
            }
            for (target, label) in labels(sources, file) {
                match target {
                    Some(name) => found.by_name.entry(name).or_default().push(label),
                    // Which Namespaces it replaces the value of is not known.
                    None => found.of_any.push(ScriptLabel {
                        overwrites: false,
                        ..label
                    }),
                }
            }
        }
        if !found.by_name.is_empty() || !found.of_any.is_empty() {
            found.namespaces = sources.files.iter().flat_map(namespaces).collect();
        }
        found
    }

    /// Iterates over the commands for a namespace, then over those for any one. Commands of pages, and commands for any
    /// namespace that is not in the tree, count only for the file `home` if they are in a folder above it.
    pub(in crate::context) fn of_namespace<'s>(
        &'s self,
        name: &str,
        home: &'s str,
    ) -> impl Iterator<Item = &'s ScriptLabel> + use<'s> {
        let is_above = |label: &ScriptLabel| is_within(folder(home), folder(&label.place.path));
        let is_in_tree = self.namespaces.contains(name);
        let named = self.by_name.get(name).into_iter().flatten();
        let named =
            named.filter(move |label| is_in_tree || !is_page(&label.place.path) || is_above(label));
        let of_any = self
            .of_any
            .iter()
            .filter(move |label| is_in_tree && !is_page(&label.place.path) || is_above(label));
        named.chain(of_any)
    }
}

/// Returns the labels that the commands of a file set and that no later one of a script removes. The last commands of a
/// page often clean up.
fn labels(sources: &SourceSet, file: &SourceFile) -> Vec<(Target, ScriptLabel)> {
    let mut variables = Variables::default();
    let mut all: Vec<(Span, ShellCommand)> = Vec::new();
    let whole = Span::new(0, file.text.len());
    let trees = file
        .documents
        .iter()
        .filter_map(|document| match &document.content {
            Content::Tree(tree) | Content::Plain(tree) => tree.root(),
            _ => None,
        });
    for root in trees {
        add_scalars(root, &mut variables, &mut all);
    }
    if all.is_empty() {
        add_commands(whole, &file.text, is_page(&file.path), &mut all);
    }
    for (_, command) in &all {
        variables.add_from(command);
    }
    let mut found: Vec<(Target, ScriptLabel)> = Vec::new();
    for (span, command) in &all {
        let at = command.at;
        let Some(command) = LabelCommand::parse(command, &variables) else {
            continue;
        };
        let targets = targets(&command, sources, file);
        for (key, value) in &command.pairs {
            let mesh = value.as_ref().and_then(|value| enabled_mesh(key, value));
            let Some(mesh) = mesh else {
                if !is_page(&file.path) {
                    found.retain(|(target, label)| label.key != *key || !targets.contains(target));
                }
                continue;
            };
            let value = value.as_deref().unwrap_or_default();
            let label = ScriptLabel {
                mesh,
                key: key.clone(),
                overwrites: command.overwrites,
                place: Label {
                    path: file.path.clone(),
                    span: line_of(&file.text, *span, at, key),
                    message: format!("this command sets `{key}={value}`"),
                },
            };
            found.extend(targets.iter().map(|target| (target.clone(), label.clone())));
        }
    }
    found
}

/// Adds the commands of a text at `span` of a file, and those in quotes, which a shell is started with.
fn add_commands(span: Span, text: &str, is_page: bool, all: &mut Vec<(Span, ShellCommand)>) {
    for command in commands(text, is_page) {
        let prints = command
            .words
            .iter()
            .any(|word| matches!(&**word, "echo" | "printf"));
        let inner = command
            .words
            .iter()
            .filter(|word| !prints && labels_objects(word));
        let inner: Vec<ShellCommand> = inner.flat_map(|word| commands(word, false)).collect();
        let at = command.at;
        all.push((span, command));
        all.extend(
            inner
                .into_iter()
                .map(|command| (span, ShellCommand { at, ..command })),
        );
    }
}

/// Adds the commands in the scalars of a workflow, and the variables that it sets.
fn add_scalars(root: NodeRef<'_>, variables: &mut Variables, all: &mut Vec<(Span, ShellCommand)>) {
    let mut pending = vec![root];
    let mut left = NODES;
    while let Some(node) = pending.pop().filter(|_| left > 0) {
        left -= 1;
        let mut inner: Vec<NodeRef<'_>> = node.items().collect();
        for entry in node.entries() {
            let (key, value) = (entry.key.text().unwrap_or_default(), entry.value);
            let texts = value
                .text()
                .into_iter()
                .chain(value.items().filter_map(NodeRef::text));
            texts.for_each(|text| variables.add(key, text));
            inner.push(value);
        }
        // In the order of the file.
        pending.extend(inner.into_iter().rev());
        if let Some(text) = node.text().filter(|text| labels_objects(text)) {
            add_commands(node.span(), text, false, all);
        }
    }
}

/// Returns the line of a command without white space around it. `at` is its offset in the text at `span`, unless this is
/// a value of YAML: then it is the line with `key`.
fn line_of(text: &str, span: Span, at: usize, key: &str) -> Span {
    let at = match span.len() == text.len() {
        true => at,
        false => span.start + span.slice(text).find(key).unwrap_or_default(),
    };
    let (before, behind) = text.split_at_checked(at).unwrap_or((text, ""));
    let start = before.rfind('\n').map_or(0, |at| at + 1);
    let end = at + behind.find('\n').unwrap_or(behind.len());
    let line = text.get(start..end).unwrap_or_default();
    let shown = line.trim_end().trim_end_matches('\\').trim_end();
    let indent = shown.len() - shown.trim_start().len();
    Span::new(start + indent, start + shown.len())
}

/// Returns the Namespaces of a command in `file`. A page has placeholders for names that the reader chooses.
fn targets(command: &LabelCommand, sources: &SourceSet, file: &SourceFile) -> Vec<Target> {
    let mut targets: Vec<Target> = command.names.iter().cloned().map(Some).collect();
    for name in &command.files {
        let places = [
            sources.joined(folder(&file.path).trim_end_matches('/'), name),
            sources.joined("", name),
        ];
        let found = places.iter().find_map(|place| sources.file(place));
        targets.extend(found.into_iter().flat_map(namespaces).map(Some));
    }
    if command.is_for_all || command.is_open && !is_page(&file.path) {
        targets.push(None);
    }
    targets
}

fn is_page(path: &str) -> bool {
    path.ends_with(".md")
}

/// Returns the names of the Namespaces in a file.
fn namespaces(file: &SourceFile) -> impl Iterator<Item = String> {
    let roots = file
        .documents
        .iter()
        .filter_map(|document| document.tree()?.root());
    roots.filter_map(|root| {
        let is_namespace = root.get("kind")?.text() == Some("Namespace");
        let name = root.get("metadata")?.get("name")?.text()?;
        is_namespace.then(|| name.to_owned())
    })
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
            (format!("label namespace shop {key}"), vec![], 0),
            (format!("# kubectl label namespace shop {key}"), vec![], 0),
            (format!("true # kubectl label ns shop {key}"), vec![], 0),
            (format!("kubectl label ns other a=b && kubectl label ns shop {key}"), vec!["shop"], 0),
            (format!("kubectl label ns shop a=b; kubectl label ns other {key}"), vec!["other"], 0),
            (format!("kubectl label ns ${{NS:-shop}} {key}"), vec!["shop"], 0),
            (format!("NAMESPACES=(shop\n  cart)\nfor n in \"${{NAMESPACES[@]}}\"; do kubectl label ns $n {key}; done"), vec!["cart", "shop"], 0),
            (format!("ALL=\"a b\"\nfor n in $ALL; do kubectl label ns \"$n\" {key}; done"), vec!["a", "b"], 0),
            (format!("for n in $(kubectl get ns -o name); do kubectl label ns $n {key}; done"), vec![], 1),
            (format!("kubectl label ns ns-$1 {key}"), vec![], 1),
            (format!("KEY={key}\nkubectl label ns shop $KEY"), vec!["shop"], 0),
            ("MODE=enabled; kubectl label ns shop istio-injection=$MODE".to_owned(), vec!["shop"], 0),
            (format!("kubectl label ns -l team=a {key}"), vec![], 1),
            (format!("kubectl label ns --selector=team=a {key}"), vec![], 1),
            (format!("kubectl label namespaces/shop {key}"), vec!["shop"], 0),
            (format!("kubectl label ns shop -n default --context c {key}"), vec!["shop"], 0),
            (format!("kubectl label ns shop {key} --dry-run=client"), vec![], 0),
            (format!("kubectl label ns shop {key}\nkubectl label ns shop istio-injection-"), vec![], 0),
            (format!("kubectl label ns shop istio-injection-\nkubectl label ns shop {key}"), vec!["shop"], 0),
            (format!("echo \"kubectl label ns shop {key}\""), vec![], 0),
            (format!("bash -c \"kubectl label ns shop {key}\""), vec!["shop"], 0),
            (r#"kubectl patch ns shop -p '{"metadata":{"labels":{"istio-injection":"enabled"}}}'"#.to_owned(), vec!["shop"], 0),
            (r#"kubectl patch namespace/shop --type=json -p='[{"op":"add","path":"/metadata/labels/istio-injection","value":"enabled"}]'"#.to_owned(), vec!["shop"], 0),
            (format!("K := kubectl\nNS ?= shop\nmesh:\n\t@$(K) label ns $(NS) {key}"), vec!["shop"], 0),
            (format!("all:\n\tfor n in a b; do $(KUBECTL) label ns $$n {key}; done"), vec!["a", "b"], 0),
            (format!("ns := \"shop\"\nup:\n  kubectl label ns {{{{ns}}}} {key}"), vec!["shop"], 0),
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
        let cleaned =
            format!("kubectl label ns shop {key}\nkubectl label ns shop istio-injection-");
        assert_eq!(labelled("a.md", &cleaned), (vec!["shop".to_owned()], 0));
    }
}
