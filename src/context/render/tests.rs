//! What a rendering shows, on small trees.

use super::*;
use crate::kube::{Object, Workload};
use crate::source::SourceFile;
use crate::yaml::{NodeRef, Route, Step};

fn set(files: &[(&str, &str)]) -> SourceSet {
    let file = |(path, text): &(&str, &str)| SourceFile::new((*path).into(), (*text).into());
    SourceSet::new(files.iter().map(file).collect())
}

fn only(sources: &SourceSet) -> Rendering {
    let mut renderings = render(sources);
    assert_eq!(renderings.len(), 1);
    renderings.remove(0)
}

fn messages(rendering: &Rendering) -> Vec<&str> {
    let notes = rendering.notes.iter();
    notes.map(|note| note.message.as_str()).collect()
}

/// Returns the user's words for a place of the first document, with their file.
fn real(sources: &SourceSet, rendering: &Rendering, span: Span) -> (String, String) {
    let (path, span) = rendering.documents[0].origin.real(span);
    let text = span.slice(&sources.file(&path).unwrap().text);
    (path.to_string(), text.to_owned())
}

fn at<'d>(rendering: &'d Rendering, steps: &[&str]) -> NodeRef<'d> {
    let route = steps.iter().fold(Route::root(), |route, step| {
        let step = step
            .parse()
            .map_or_else(|_| Step::from((*step).to_owned()), Step::Index);
        route.child_step(step)
    });
    let root = rendering.documents[0].document.tree().unwrap().root();
    root.unwrap().at(&route).unwrap()
}

trait ChildStep {
    fn child_step(&self, step: Step) -> Route;
}

impl ChildStep for Route {
    fn child_step(&self, step: Step) -> Route {
        match step {
            Step::Key(key) => self.child(key.into_owned()),
            Step::Index(index) => self.child(index),
        }
    }
}

const WEB: &str = "\
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
fn each_value_points_at_the_line_that_brought_it() {
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
    let own = "prod/kustomization.yaml";
    let http = below(&PROBE, &["httpGet"]);
    for (steps, path, text) in [
        (below(&http, &["path"]), patch, "/patched"),
        (below(&http, &["port"]), own, "9090"),
        (below(&PROBE, &["timeoutSeconds"]), patch, "3"),
        (below(&PROBE[..5], &["name"]), base, "web"),
        (
            below(&PROBE[..5], &["readinessProbe", "httpGet", "path"]),
            base,
            "'/ready'",
        ),
        (vec!["metadata", "namespace"], own, "shop"),
        (vec!["metadata", "name"], base, "web"),
        (vec!["metadata", "annotations", "owner"], own, "us"),
        (
            vec!["spec", "template", "metadata", "annotations", "owner"],
            own,
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
    // The whole probe is still the base's, and so is a part of a string.
    let ready = at(
        &rendering,
        &below(&PROBE[..5], &["readinessProbe", "httpGet", "path"]),
    );
    let inner = Span::new(ready.span().start + 2, ready.span().end - 1);
    assert_eq!(real(&sources, &rendering, inner).1, "ready");
}

#[test]
fn views_work_on_a_rendered_document() {
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
fn what_nothing_changes_is_the_users_own_document() {
    let sources = set(&[
        ("kustomization.yaml", "resources: [web.yaml]\n"),
        ("web.yaml", WEB),
    ]);
    let rendering = only(&sources);
    let rendered = &rendering.documents[0];
    assert!(rendered.origin.is_same());
    assert_eq!(&**rendered.document.tree().unwrap().text(), WEB);
    let span = Span::new(2, 5);
    assert_eq!(rendered.origin.real(span), ("web.yaml".into(), span));
}

#[test]
fn what_is_not_modelled_is_said() {
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
    let said = messages(&rendering).join("\n");
    for word in [
        "`https://example.org/x.yaml` is remote",
        "`github.com/a/b?ref=1` is remote",
        "`gone.yaml` is not among the files read",
        "`folder` is a folder without a kustomization",
        "`helmCharts` is not modelled",
        "`generators` is not modelled",
        "`transformers` is not modelled",
        "`replacements` is not modelled",
        "`vars` is not modelled",
        "`openapi` is not modelled",
        "`resorces` is no field",
        "ConfigMap `istio` is not read",
        "a component is a folder",
    ] {
        assert!(said.contains(word), "{word}\n{said}");
    }
    assert_eq!(rendering.notes.len(), 13, "{said}");
    assert!(rendering.notes.iter().all(|note| note.scope == Scope::All));
    assert_eq!(rendering.documents.len(), 1);
}

#[test]
fn a_patch_that_does_not_fit_leaves_the_object_and_says_so() {
    let patches = [
        "- target: {kind: Deployment}\n  patch: '[{op: remove, path: /spec/none}]'",
        "- target: {kind: Deployment}\n  patch: '[{op: test, path: /kind, value: Pod}]'",
        "- target: {kind: Deployment}\n  patch: '[{op: jump, path: /kind}]'",
        "- patch: '[{op: remove, path: /spec}]'",
        "- patch: '{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: text}'",
        "- patch: '{apiVersion: apps/v1, kind: Deployment, metadata: {name: other}}'",
        "- patch: '{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {$patch: x}}'",
        "- patch: 'a: ['",
        "- target: {name: '('}\n  patch: '[{op: remove, path: /spec}]'",
        "- target: {labelSelector: 'a b'}\n  patch: '[{op: remove, path: /spec}]'",
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
        assert!(rendering.documents[0].origin.is_same(), "{patch}");
    }
}

#[test]
fn a_note_about_one_object_names_its_document() {
    let text = "resources: [web.yaml]\npatches:\n- target: {kind: Deployment}\n  patch: '[{op: remove, path: /none}]'\n";
    let sources = set(&[("kustomization.yaml", text), ("web.yaml", WEB)]);
    let rendering = only(&sources);
    let expected = Scope::Objects(vec![("web.yaml".into(), 0)]);
    assert_eq!(rendering.notes[0].scope, expected);
}

#[test]
fn circles_end() {
    let sources = set(&[
        ("a/kustomization.yaml", "resources: [../b, web.yaml]\n"),
        ("a/web.yaml", WEB),
        ("b/kustomization.yaml", "resources: [../a]\n"),
        ("self/kustomization.yaml", "resources: [., ../self]\n"),
    ]);
    let renderings = render(&sources);
    let roots: Vec<&str> = renderings.iter().map(|one| &*one.root).collect();
    assert_eq!(roots, ["a/kustomization.yaml", "self/kustomization.yaml"]);
    for rendering in &renderings {
        assert!(messages(rendering)[0].contains("circle"), "{rendering:?}");
    }
    assert_eq!(renderings[0].documents.len(), 1);
}

#[test]
fn nothing_outside_the_set_is_read() {
    let text = "resources: ['../../../../etc/passwd', /etc/passwd, ../../.., '']\npatches: [{path: ../../../../etc/passwd}]\n";
    let sources = set(&[("a/kustomization.yaml", text)]);
    let rendering = only(&sources);
    assert_eq!(rendering.notes.len(), 5, "{:?}", rendering.notes);
    assert!(rendering.documents.is_empty() && rendering.used.is_empty());
}

#[test]
fn a_long_chain_of_overlays_is_cut() {
    let mut files = vec![("k0/web.yaml".to_owned(), WEB.to_owned())];
    files.push((
        "k0/kustomization.yaml".to_owned(),
        "resources: [web.yaml]\n".to_owned(),
    ));
    for level in 1..1000 {
        let text = format!("resources: [../k{}]\n", level - 1);
        files.push((format!("k{level}/kustomization.yaml"), text));
    }
    let borrowed: Vec<_> = files
        .iter()
        .map(|(a, b)| (a.as_str(), b.as_str()))
        .collect();
    let rendering = only(&set(&borrowed));
    assert_eq!(&*rendering.root, "k999/kustomization.yaml");
    assert!(messages(&rendering)[0].contains("more than 32"));
}

#[test]
fn what_doubles_with_every_level_ends() {
    let mut files = vec![("k0/web.yaml".to_owned(), WEB.to_owned())];
    files.push((
        "k0/kustomization.yaml".to_owned(),
        "resources: [web.yaml]\n".to_owned(),
    ));
    let component = "kind: Component\n";
    files.push(("c0/kustomization.yaml".to_owned(), component.to_owned()));
    for level in 1..30 {
        let below = level - 1;
        for (name, prefix) in [("a", "x"), ("b", "y")] {
            let text = format!("namePrefix: {prefix}\nresources: [../k{below}]\n");
            files.push((format!("{name}{level}/kustomization.yaml"), text));
        }
        let text = format!("resources: [../a{level}, ../b{level}]\n");
        files.push((format!("k{level}/kustomization.yaml"), text));
        let text = format!("{component}components: [../c{below}, ../c{below}]\n");
        files.push((format!("c{level}/kustomization.yaml"), text));
    }
    files.push((
        "top/kustomization.yaml".to_owned(),
        "components: [../c29]\n".to_owned(),
    ));
    let borrowed: Vec<_> = files
        .iter()
        .map(|(a, b)| (a.as_str(), b.as_str()))
        .collect();
    let renderings = render(&set(&borrowed));
    assert_eq!(renderings.len(), 2);
    for rendering in &renderings {
        assert!(rendering.documents.len() <= 20_000);
        assert!(!rendering.notes.is_empty());
    }
}

#[test]
fn copies_of_copies_end() {
    let mut patch = String::new();
    for _ in 0..60 {
        patch.push_str("    - {op: copy, from: /spec/template/spec/containers, path: /spec/template/spec/containers/-}\n");
    }
    let text = format!(
        "resources: [web.yaml]\npatches:\n- target: {{kind: Deployment}}\n  patch: |\n{patch}"
    );
    let sources = set(&[("kustomization.yaml", text.as_str()), ("web.yaml", WEB)]);
    let rendering = only(&sources);
    assert!(
        messages(&rendering)[0].contains("too"),
        "{:?}",
        messages(&rendering)
    );
}

#[test]
fn aliases_that_multiply_each_other_end() {
    let mut text = String::from("apiVersion: v1\nkind: Pod\nmetadata: {name: a}\na0: &a0 [x]\n");
    for level in 1..12 {
        let below = vec![format!("*a{}", level - 1); 9].join(", ");
        text.push_str(&format!("a{level}: &a{level} [{below}]\n"));
    }
    let sources = set(&[
        ("kustomization.yaml", "resources: [a.yaml]\n"),
        ("a.yaml", text.as_str()),
    ]);
    let rendering = only(&sources);
    assert!(rendering.documents.is_empty());
    assert_eq!(rendering.notes.len(), 1);
}

#[test]
fn an_unused_component_and_a_broken_kustomization_are_said() {
    let sources = set(&[
        ("c/kustomization.yaml", "kind: Component\n"),
        ("x/kustomization.yaml", "a: [\n"),
        ("y/kustomization.yaml", "resources: [../x]\n"),
    ]);
    let renderings = render(&sources);
    let said: Vec<_> = renderings.iter().flat_map(messages).collect();
    assert_eq!(said.len(), 2, "{said:?}");
    assert!(said[0].contains("no kustomization uses this component"));
    assert!(said[1].contains("`x/kustomization.yaml` cannot be read"));
}
