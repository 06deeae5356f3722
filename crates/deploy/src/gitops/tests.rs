//! Tests of renderings of small trees.

use meshprobe_mesh::kube::{Object, ObjectId, Workload};
use meshprobe_tree::source::{SourceFile, SourceSet};
use meshprobe_yaml::{FieldPath, NodeRef, Span, Step};

use super::render;
use crate::kustomize::*;

pub(crate) fn set(files: &[(&str, &str)]) -> SourceSet {
    let file = |(path, text): &(&str, &str)| SourceFile::new((*path).into(), (*text).into());
    SourceSet::new(files.iter().map(file).collect())
}

pub(crate) fn only(sources: &SourceSet) -> Rendering {
    let mut renderings = render(sources);
    assert_eq!(renderings.len(), 1);
    renderings.remove(0)
}

pub(crate) fn messages(rendering: &Rendering) -> Vec<&str> {
    rendering
        .notes
        .iter()
        .map(|note| note.message.as_str())
        .collect()
}

/// Returns the file and the user's text for a span of the first document.
fn real(sources: &SourceSet, rendering: &Rendering, span: Span) -> (String, String) {
    let document = &rendering.documents[0].document;
    let tree = document.tree().unwrap();
    let (path, span) = tree.source_location(span, &document.path);
    let text = span.slice(&sources.file(&path).unwrap().text);
    (path.to_string(), text.to_owned())
}

fn at<'d>(rendering: &'d Rendering, steps: &[&str]) -> NodeRef<'d> {
    let route = steps.iter().fold(FieldPath::root(), |route, step| {
        let step = step
            .parse()
            .map_or_else(|_| Step::from((*step).to_owned()), Step::Index);
        route.child_step(step)
    });
    let root = rendering.documents[0].document.tree().unwrap().root();
    root.unwrap().at(&route).unwrap()
}

trait ChildStep {
    fn child_step(&self, step: Step) -> FieldPath;
}

impl ChildStep for FieldPath {
    fn child_step(&self, step: Step) -> FieldPath {
        match step {
            Step::Key(key) => self.child(key.into_owned()),
            Step::Index(index) => self.child(index),
        }
    }
}

pub(crate) const WEB: &str = "\
# the base
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
spec:
  template:
    spec:
      containers:
        - name: web
          livenessProbe: {httpGet: {path: /live, port: 8080}}
          readinessProbe:
            httpGet: {path: '/ready', port: http}
";

const PROBE: [&str; 6] = [
    "spec",
    "template",
    "spec",
    "containers",
    "0",
    "livenessProbe",
];

fn below<'a>(front: &[&'a str], rest: &[&'a str]) -> Vec<&'a str> {
    front.iter().chain(rest).copied().collect()
}

#[test]
fn each_value_points_to_the_line_that_sets_it() {
    let sources = set(&[
        ("base/kustomization.yaml", "resources: [web.yaml]\n"),
        ("base/web.yaml", WEB),
        (
            "prod/kustomization.yaml",
            "namespace: shop\nnamePrefix: eu-\nresources: [../base]\n\
             commonAnnotations: {owner: us}\npatches:\n- path: patch.yaml\n\
             - target: {kind: Deployment}\n  patch: |-\n    - op: replace\n      \
             path: /spec/template/spec/containers/0/livenessProbe/httpGet/port\n      \
             value: 9090\n",
        ),
        (
            "prod/patch.yaml",
            "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  template:\n    \
             spec:\n      containers:\n      - name: web\n        livenessProbe:\n          \
             httpGet:\n            path: /patched # here\n          timeoutSeconds: 3\n",
        ),
    ]);
    let rendering = only(&sources);
    assert_eq!(messages(&rendering), Vec::<&str>::new());
    let base = "base/web.yaml";
    let patch = "prod/patch.yaml";
    let kustomization = "prod/kustomization.yaml";
    let http = below(&PROBE, &["httpGet"]);
    for (steps, path, text) in [
        (below(&http, &["path"]), patch, "/patched"),
        (below(&http, &["port"]), kustomization, "9090"),
        (below(&PROBE, &["timeoutSeconds"]), patch, "3"),
        (below(&PROBE[..5], &["name"]), base, "web"),
        (
            below(&PROBE[..5], &["readinessProbe", "httpGet", "path"]),
            base,
            "'/ready'",
        ),
        (vec!["metadata", "namespace"], kustomization, "shop"),
        (vec!["metadata", "name"], base, "web"),
        (
            vec!["metadata", "annotations", "owner"],
            kustomization,
            "us",
        ),
        (
            vec!["spec", "template", "metadata", "annotations", "owner"],
            kustomization,
            "us",
        ),
    ] {
        let node = at(&rendering, &steps);
        let found = real(&sources, &rendering, node.span());
        assert_eq!(found, (path.to_owned(), text.to_owned()), "{steps:?}");
    }
    let entry = at(&rendering, &http).entry("path").unwrap();
    let found = real(&sources, &rendering, entry.span());
    assert_eq!(found, (patch.to_owned(), "path: /patched".to_owned()));
    let key = at(&rendering, &PROBE[..5])
        .entry("livenessProbe")
        .unwrap()
        .key;
    let found = real(&sources, &rendering, key.span());
    assert_eq!(found, (base.to_owned(), "livenessProbe".to_owned()));
    // The whole probe still comes from the base, and so does a part of a string.
    let ready = at(
        &rendering,
        &below(&PROBE[..5], &["readinessProbe", "httpGet", "path"]),
    );
    let inner = Span::new(ready.span().start + 2, ready.span().end - 1);
    assert_eq!(real(&sources, &rendering, inner).1, "ready");
}

#[test]
fn objects_and_workloads_can_be_read_from_a_rendered_document() {
    let sources = set(&[
        (
            "kustomization.yaml",
            "namespace: shop\nresources: [web.yaml]\n",
        ),
        ("web.yaml", WEB),
    ]);
    let rendering = only(&sources);
    let rendered = &rendering.documents[0];
    assert_eq!(
        (&*rendered.document.path, rendered.document.index),
        ("web.yaml", 0)
    );
    let objects = Object::all_in(&rendered.document);
    assert_eq!(objects[0].namespace(), Some("shop"));
    let workload = Workload::from_object(&objects[0]).unwrap();
    assert_eq!(workload.title(), "Deployment/web");
    assert!(rendering.used.contains(&("web.yaml".into(), 0)));
}

#[test]
fn an_unchanged_object_is_the_document_of_the_user() {
    let sources = set(&[
        ("kustomization.yaml", "resources: [web.yaml]\n"),
        ("web.yaml", WEB),
    ]);
    let rendering = only(&sources);
    let rendered = &rendering.documents[0];
    assert!(rendered.is_same());
    assert_eq!(&**rendered.document.tree().unwrap().text(), WEB);
    let span = Span::new(2, 5);
    let found = real(&sources, &rendering, span);
    assert_eq!(found, ("web.yaml".to_owned(), span.slice(WEB).to_owned()));
}

#[test]
fn unsupported_fields_are_reported() {
    let sources = set(&[
        (
            "kustomization.yaml",
            "resources: [web.yaml, 'https://example.org/x.yaml', 'github.com/a/b?ref=1', gone.yaml, folder]\n\
             helmCharts: [{name: a}]\ngenerators: [g.yaml]\ntransformers: [t.yaml]\n\
             validators: [v.yaml]\nreplacements: [{path: r.yaml}]\nvars: [{name: A}]\n\
             openapi: {path: o.json}\nconfigurations: []\nresorces: [a]\n\
             configMapGenerator: [{name: istio}, {name: other}]\n\
             components: [web.yaml]\n",
        ),
        ("folder/x.yaml", WEB),
        ("web.yaml", WEB),
    ]);
    let rendering = only(&sources);
    let messages = messages(&rendering).join("\n");
    for word in [
        "`https://example.org/x.yaml` is remote",
        "`github.com/a/b?ref=1` is remote",
        "`gone.yaml` is not among the files read",
        "`folder` is a folder without a kustomization",
        "`helmCharts` is not modelled",
        "`generators` is not modelled",
        "`transformers` is not modelled",
        "`replacements` is not modelled",
        "`openapi` is not modelled",
        "`resorces` is not a field",
        "a component is a folder",
    ] {
        assert!(messages.contains(word), "{word}\n{messages}");
    }
    assert_eq!(rendering.notes.len(), 11, "{messages}");
    assert!(rendering.notes.iter().all(|note| note.scope == Scope::All));
    assert_eq!(rendering.documents.len(), 3);
}

#[test]
fn a_patch_that_cannot_be_applied_is_skipped_and_reported() {
    let patches = [
        "- target: {kind: Deployment}\n  patch: '- {op: remove, path: /spec/none}'",
        "- target: {kind: Deployment}\n  patch: '- {op: test, path: /kind, value: Pod}'",
        "- target: {kind: Deployment}\n  patch: '- {op: jump, path: /kind}'",
        "- patch: '- {op: remove, path: /spec}'",
        "- patch: '{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: text}'",
        "- patch: '{apiVersion: apps/v1, kind: Deployment, metadata: {name: other}}'",
        "- patch: '{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {$patch: x}}'",
        "- patch: 'a: ['",
        "- target: {name: '('}\n  patch: '- {op: remove, path: /spec}'",
        "- target: {labelSelector: 'a b'}\n  patch: '- {op: remove, path: /spec}'",
        "- path: gone.yaml",
        "- {}",
    ];
    for patch in patches {
        let text = format!("resources: [web.yaml]\npatches:\n{patch}\n");
        let sources = set(&[("kustomization.yaml", text.as_str()), ("web.yaml", WEB)]);
        let rendering = only(&sources);
        assert_eq!(
            rendering.notes.len(),
            1,
            "{patch}: {:?}",
            messages(&rendering)
        );
        assert!(rendering.documents[0].is_same(), "{patch}");
    }
}

#[test]
fn a_note_about_one_object_names_its_document() {
    let text = "resources: [web.yaml]\npatches:\n- target: {kind: Deployment}\n  patch: '- {op: remove, path: /none}'\n";
    let sources = set(&[("kustomization.yaml", text), ("web.yaml", WEB)]);
    let rendering = only(&sources);
    let expected = Scope::Objects(vec![ObjectId {
        path: "web.yaml".into(),
        document: 0,
        item: FieldPath::root(),
    }]);
    assert_eq!(rendering.notes[0].scope, expected);
}

#[test]
fn errors_of_kustomize_are_reported() {
    let web = "apiVersion: v1\nkind: Pod\nmetadata: {name: web, namespace: a}\n";
    let two = format!("{web}---\n{}", web.replace("namespace: a", "namespace: b"));
    for (kustomization, objects, word) in [
        ("kind: Kustomization\n", web, "is empty"),
        (
            "resources: [all.yaml]\nnamespace: c\n",
            &two,
            "two objects become Pod/web",
        ),
        (
            "resources: [all.yaml, ./all.yaml]\n",
            web,
            "is included twice",
        ),
        (
            "resources: [all.yaml]\n",
            "apiVersion: v1\nkind: Pod\n",
            "has no name",
        ),
        (
            "resources: [all.yaml]\n",
            "a: [\n",
            "cannot be read as Kubernetes objects",
        ),
        (
            "resources: [all.yaml]\n",
            "just: yaml\n",
            "cannot be read as Kubernetes objects",
        ),
        (
            "resources: [all.yaml]\ncommonLabels: {a: b}\n",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: a, labels: text}\n",
            "cannot be set",
        ),
    ] {
        let sources = set(&[("kustomization.yaml", kustomization), ("all.yaml", objects)]);
        let rendering = only(&sources);
        let messages = messages(&rendering).join("\n");
        assert!(messages.contains(word), "{word}: {messages}");
    }
}
