use std::fs;
use std::path::Path;

use meshprobe_yaml::Span;

use crate::source::discover::Request;
use crate::source::model::set::SourceSet;
use crate::source::origin::mark_origins;
use crate::source::shown_path::relative_path;

/// Creates a temporary folder with files.
fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    folder
}

/// Returns the path and the line of the source of the first `what` in a rendered text.
fn source(folder: &Path, text: &str, what: &str) -> Option<(String, Option<usize>)> {
    let folder = crate::source::canonical(folder).unwrap();
    let mut set = SourceSet::from_text("stdin", text);
    let request = Request {
        working_directory: folder,
        ..Request::default()
    };
    mark_origins(&mut set, &request);
    let start = text.find(what).unwrap();
    let span = Span::new(start, start + what.len());
    let source = set.source_of("stdin", span)?;
    let line = source.place.map(|(start, _)| start.line);
    Some((source.path.to_string(), line))
}

const TEMPLATE: &str = r#"{{- if .Values.web }}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ .Release.Name }}-web
  labels: {{- include "labels" . | nindent 4 }}
spec:
  template:
    spec:
      containers:
        - name: web
          image: {{ .Values.image }}
          readinessProbe:
            httpGet:
              port: {{ .Values.port }}
          {{- with .Values.liveness }}
          livenessProbe:
            {{- toYaml . | nindent 12 }}
          {{- end }}
        - name: side
          readinessProbe:
            tcpSocket: {port: 9}
{{- end }}
"#;

const RENDERED: &str = "\
---
# Source: shop/templates/web.yaml
apiVersion: apps/v1
kind: Deployment
metadata:
  name: x-web
  labels:
    a: b
spec:
  template:
    spec:
      containers:
        - name: side
          readinessProbe:
            tcpSocket: {port: 9}
        - name: web
          image: i
          readinessProbe:
            httpGet:
              port: 8080
          livenessProbe:
            exec:
              command: [a]
";

#[test]
fn a_template_is_found_by_the_name_of_its_chart() {
    let chart = ("charts/x/Chart.yaml", "apiVersion: v2\nname: shop\n");
    let folder = folder(&[chart, ("charts/x/templates/web.yaml", TEMPLATE)]);
    let at = |what: &str| source(folder.path(), RENDERED, what).unwrap();
    let file = "charts/x/templates/web.yaml".to_owned();
    assert_eq!(at("8080"), (file.clone(), Some(15)));
    assert_eq!(at("tcpSocket"), (file.clone(), Some(22)));
    assert_eq!(
        at("name: web\n          image: i"),
        (file.clone(), Some(11))
    );
    // A field that an expression fills in has the line of the key above it.
    assert_eq!(at("exec"), (file.clone(), Some(17)));
    assert_eq!(at("a: b"), (file.clone(), Some(6)));
    assert_eq!(at("kind: Deployment"), (file, Some(3)));
}

#[test]
fn without_the_chart_only_the_path_of_the_renderer_is_named() {
    let folder = folder(&[]);
    let found = source(folder.path(), RENDERED, "8080").unwrap();
    assert_eq!(found, ("shop/templates/web.yaml".to_owned(), None));
    let remark = RENDERED.replace("shop/templates/web.yaml", "https://example.com/templates/");
    assert_eq!(source(folder.path(), &remark, "8080"), None);
}

#[test]
fn an_ambiguous_line_is_not_named() {
    let chart = ("Chart.yaml", "name: shop\n");
    let branches = TEMPLATE
        .replace("- name: web", "- name: {{ .n }}")
        .replace("- name: side", "- name: {{ .m }}");
    let folder = folder(&[chart, ("templates/web.yaml", &branches)]);
    let at = |what: &str| source(folder.path(), RENDERED, what).unwrap().1;
    assert_eq!(at("readinessProbe"), None);
    assert_eq!(at("tcpSocket"), Some(22));
    // An item whose name is filled in may be any item.
    assert_eq!(at("name: web\n          image: i"), None);
}

#[test]
fn lines_that_match_equally_well_are_not_named() {
    let chart = ("Chart.yaml", "name: shop\n");
    let other = TEMPLATE.replace("- name: web", "- name: {{ .n }}");
    let template = format!("{TEMPLATE}---\n{TEMPLATE}---\n{other}");
    let folder = folder(&[chart, ("templates/web.yaml", &template)]);
    let at = |what: &str| source(folder.path(), RENDERED, what).unwrap().1;
    assert_eq!(at("8080"), None);
    let template = format!("{TEMPLATE}---\n{other}");
    fs::write(folder.path().join("templates/web.yaml"), template).unwrap();
    let at = |what: &str| source(folder.path(), RENDERED, what).unwrap().1;
    assert_eq!(at("8080"), Some(15));
}

#[test]
fn objects_with_the_same_name_are_distinguished_by_namespace() {
    let base = format!(
        "{}---\n{}",
        BASE.replace("{name: web}", "{name: web, namespace: a}"),
        BASE.replace("{name: web}", "{name: web, namespace: b}")
    );
    let folder = folder(&[("base/all.yaml", &base)]);
    let text = built("    config.kubernetes.io/origin: |\n      path: base/all.yaml\n")
        .replace("  name: prod-web", "  name: web\n  namespace: b");
    let found = source(folder.path(), &text, "8080").unwrap();
    assert_eq!(found, ("base/all.yaml".to_owned(), Some(33)));
    let other = text.replace("namespace: b", "namespace: c");
    assert_eq!(source(folder.path(), &other, "8080").unwrap().1, None);
    let nameless = text.replace("  name: web\n  namespace: b", "  namespace: b");
    assert_eq!(source(folder.path(), &nameless, "8080").unwrap().1, None);
}

const BASE: &str = "\
# The shop.
apiVersion: v1
kind: Service
metadata: {name: web}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  template:
    spec:
      containers:
      - {name: side}
      - name: web
        readinessProbe:
          httpGet: {port: 8080}
";

fn built(annotations: &str) -> String {
    format!(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  annotations:\n{annotations}  name: prod-web\nspec:\n  template:\n    spec:\n      containers:\n      - name: web\n        readinessProbe:\n          httpGet:\n            port: 8080\n            scheme: HTTP\n      - name: side\n"
    )
}

#[test]
fn a_resource_of_a_build_is_found_by_kind_and_name() {
    let folder = folder(&[("base/all.yaml", BASE)]);
    let text = built("    config.kubernetes.io/origin: |\n      path: ../../base/all.yaml\n");
    let at = |text: &str, what: &str| source(folder.path(), text, what).unwrap();
    let file = "base/all.yaml".to_owned();
    assert_eq!(at(&text, "readinessProbe"), (file.clone(), Some(15)));
    assert_eq!(at(&text, "8080"), (file.clone(), Some(16)));
    assert_eq!(at(&text, "prod-web"), (file.clone(), Some(8)));
    // A patch sets this field: only the file is known.
    assert_eq!(at(&text, "scheme"), (file.clone(), None));
    let other = text.replace("prod-web", "api");
    let path = "../../base/all.yaml".to_owned();
    assert_eq!(at(&other, "8080"), (path, None));
    let before = "    internal.config.kubernetes.io/previousKinds: Deployment,Deployment\n    internal.config.kubernetes.io/previousNames: web,x\n";
    let renamed = built(&format!(
        "    config.kubernetes.io/origin: 'path: base/all.yaml'\n{before}"
    ));
    let renamed = renamed.replace("prod-web", "api");
    assert_eq!(at(&renamed, "8080"), (file, Some(16)));
}

#[test]
fn generators_and_other_repositories_are_named() {
    let folder = folder(&[]);
    let at = |origin: &str| {
        let text = built(&format!("    config.kubernetes.io/origin: |\n{origin}"));
        source(folder.path(), &text, "8080").unwrap().0
    };
    assert_eq!(
        at("      configuredIn: ../kustomization.yaml\n      configuredBy: {kind: X}\n"),
        "../kustomization.yaml"
    );
    assert_eq!(
        at("      path: a/b.yaml\n      repo: https://example.com/r\n      ref: v1\n"),
        "https://example.com/r//a/b.yaml?ref=v1"
    );
}

#[test]
fn items_of_packages_are_found_by_the_number_of_their_document() {
    let folder = folder(&[(
        "d/all.yaml",
        &BASE.replace("name: web}\nspec", "name: prod-web}\nspec"),
    )]);
    let text = |index: &str| {
        let annotations = format!(
            "    internal.config.kubernetes.io/path: d/all.yaml\n    internal.config.kubernetes.io/index: '{index}'\n"
        );
        let item = built(&annotations).replace('\n', "\n  ");
        format!(
            "kind: ResourceList\napiVersion: config.kubernetes.io/v1\nitems:\n- {}\n",
            item.trim_end()
        )
    };
    let found = source(folder.path(), &text("1"), "8080").unwrap();
    assert_eq!(found, ("d/all.yaml".to_owned(), Some(16)));
    let found = source(folder.path(), &text("0"), "8080").unwrap();
    assert_eq!(found, ("d/all.yaml".to_owned(), None));
}

#[test]
fn paths_are_relative_to_the_working_directory() {
    let relative = |path: &str| relative_path(Path::new(path), Path::new("/w/a"));
    assert_eq!(relative("/w/a/b/c.yaml"), "b/c.yaml");
    assert_eq!(relative("/w/b/c.yaml"), "../b/c.yaml");
    assert_eq!(relative("/w/a"), ".");
}

#[test]
fn aliases_to_their_own_ancestors_are_not_followed() {
    let folder = folder(&[("a.yaml", BASE)]);
    let text = "apiVersion: v1\nkind: Service\nmetadata: {name: web, annotations: {config.kubernetes.io/path: a.yaml}}\nspec: &s\n  ports: {x: *s}\n";
    let found = source(folder.path(), text, "s}\n");
    assert_eq!(found, Some(("a.yaml".to_owned(), None)));
    let list =
        "kind: List\napiVersion: v1\nitems: &a [*a, *a, *a, *a]\n# config.kubernetes.io/path\n";
    assert_eq!(source(folder.path(), list, "*a"), None);
}
