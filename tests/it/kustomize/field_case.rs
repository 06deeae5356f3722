//! The capitalization of the fields of a kustomization, compared with the real kustomize.

use std::fs;
use std::process::Command;

use crate::support::manifest::{ANNOTATED_WEB as WEB, INJECTED, STRICT, join};
use crate::support::project::Project;
use crate::support::{Run, kustomize};
use meshprobe::engine::load;
use meshprobe::gitops::render;
use meshprobe::kube::Object;
use meshprobe::source::{Input, Request};
use meshprobe::yaml::from_node;
use serde::Deserialize as _;
use serde_json::Value;
use tempfile::TempDir;

const OPT_OUT: &str = "- {op: add, path: /spec/template/metadata/annotations/sidecar.istio.io~1rewriteAppHTTPProbers, value: \"false\"}";
const REPLACED: &str = "- {op: replace, path: /spec/template/metadata/annotations, value: {c: d}}";

fn project(overlay: &str) -> Project {
    Project::with(&[
        ("base/web.yaml", WEB),
        ("base/ns.yaml", &join(&[INJECTED, STRICT])),
        (
            "base/kustomization.yaml",
            "resources: [ns.yaml, web.yaml]\n",
        ),
        ("over/kustomization.yaml", overlay),
    ])
}

fn check(overlay: &str) -> Run {
    project(overlay).run(&["check", "--output-format", "concise"])
}

/// Overlays in spellings that kustomize reads, with `PATCH` in place of the patch.
const SPELLINGS: [&str; 7] = [
    "resources: [../base]\nPatches: [{target: {kind: Deployment}, patch: 'PATCH'}]\n",
    "Resources: [../base]\npatches: [{Target: {KIND: Deployment}, PATCH: 'PATCH'}]\n",
    "BASES: [../base]\nPatchesJSON6902: [{target: {group: apps, Version: v1, kind: Deployment, NAME: web}, Patch: 'PATCH'}]\n",
    "re\u{17f}ources: [../base]\npatches: [{target: {\u{212a}ind: Deployment}, patch: 'PATCH'}]\n",
    // If a field has two spellings, the last one in byte order takes effect.
    "Resources: [nothing.yaml]\nresources: [../base]\npatches: [{target: {kind: Deployment, Kind: Pod}, patch: 'PATCH'}]\n",
    "namePrefix: a-\nnameprefix: b-\nresources: [../base]\npatches: [{target: {Kind: Deployment, kind: null}, patch: 'PATCH'}]\n",
    "resources: [../base]\npatches: [{target: {labelselector: app=none}, patch: 'PATCH'}, {<<: {Target: {kind: Deployment}}, patch: 'PATCH'}]\n",
];

#[test]
fn fields_are_read_in_any_capitalization() {
    for overlay in SPELLINGS {
        let overlay = overlay.replace("'PATCH'", &format!("'{OPT_OUT}'"));
        let run = check(&overlay).exits(1);
        let shown = run.transcript();
        assert!(
            shown.contains("strict-probe-not-rewritten"),
            "{overlay}\n{shown}"
        );
        assert!(!shown.contains("refuses to build"), "{overlay}\n{shown}");
    }
}

#[test]
fn predict_applies_a_capitalized_patch() {
    let overlay = SPELLINGS[1].replace("'PATCH'", &format!("'{OPT_OUT}'"));
    let project = project(&overlay);
    let lower = overlay
        .replace("Resources", "resources")
        .replace("Target", "target")
        .replace("KIND", "kind")
        .replace("PATCH:", "patch:");
    let shown = project.run(&["predict", "."]).transcript();
    project.write("over/kustomization.yaml", lower);
    assert_eq!(shown, project.run(&["predict", "."]).transcript());
    assert!(shown.contains("shop/Deployment/web"), "{shown}");
}

#[test]
fn a_base_is_not_rewritten_below_a_capitalized_patch() {
    for overlay in SPELLINGS {
        let project = project(&overlay.replace("'PATCH'", &format!("'{REPLACED}'")));
        let run = project.run(&["rewrite", "--write", "--mesh-version", "1.28", "."]);
        let run = run.exits(1);
        assert!(
            run.stderr.contains("error[kustomize-overlay]"),
            "{overlay}\n{}",
            run.stderr
        );
        assert_eq!(project.read("base/web.yaml"), WEB, "{overlay}");
    }
}

/// kustomize merges the items of such lists, which is not modelled.
#[test]
fn two_spellings_that_kustomize_merges_are_reported_and_not_rewritten() {
    let overlay = "resources: [../base]\nlabels: [{pairs: {a: b}}]\nLabels: [{pairs: {c: d}}]\n";
    let shown = check(overlay).transcript();
    assert!(
        shown.contains("over/kustomization.yaml:3:1") && shown.contains("in several spellings"),
        "{shown}"
    );
    let project = project(overlay);
    let run = project.run(&["rewrite", "--write", "--mesh-version", "1.28", "."]);
    run.exits(1);
    assert_eq!(project.read("base/web.yaml"), WEB);
}

/// Runs `rewrite --write` in a project and checks that it refuses the pod because of the overlay.
fn assert_not_rewritten(project: &Project, web: &str) {
    let before = project.read(web);
    let run = project.run(&["rewrite", "--write", "--mesh-version", "1.28", "."]);
    let run = run.exits(1);
    assert!(
        run.stderr.contains("error[kustomize-overlay]"),
        "{}",
        run.stderr
    );
    assert_eq!(project.read(web), before);
}

/// Files of `replacements`, `transformers` and `configurations`, with a field in another capitalization.
const CONFIGURATIONS: [(&str, &str); 5] = [
    (
        "replacements: [{path: config.yaml}]\n",
        "source: {kind: Namespace, name: shop, fieldPath: metadata.name}\n\
         targets: [{select: {kind: Deployment}, FieldPaths: [spec.template.spec.containers.0.readinessProbe.httpGet.path]}]\n",
    ),
    (
        "replacements: [{path: config.yaml}]\n",
        "- source: {kind: Namespace, name: shop, fieldPath: metadata.name}\n  \
         targets: [{select: {kind: Deployment, name: web}, fieldpaths: [spec.template.spec.containers.0.readinessProbe.httpGet.path]}]\n",
    ),
    (
        "transformers: [config.yaml]\n",
        "apiVersion: builtin\nkind: AnnotationsTransformer\nmetadata: {name: t}\n\
         Annotations: {proxy.istio.io/config: 'concurrency: 2'}\n\
         fieldSpecs: [{path: spec/template/metadata/annotations, create: true}]\n",
    ),
    (
        "transformers: [config.yaml]\n",
        "apiVersion: builtin\nkind: PrefixTransformer\nmetadata: {name: t}\nprefix: x-\n\
         fieldſpecs: [{path: spec/template/spec/containers/readinessProbe/httpGet/path}]\n",
    ),
    (
        "namePrefix: x-\nconfigurations: [config.yaml]\n",
        "namePrefix:\n- {Path: 'spec/template/spec/containers[]/readinessProbe/httpGet/path', kind: Deployment}\n",
    ),
];

#[test]
fn files_that_a_kustomization_names_are_read_in_any_capitalization() {
    for (field, config) in CONFIGURATIONS {
        let project = project(&format!("resources: [../base]\n{field}"));
        project.write("over/config.yaml", config);
        assert_not_rewritten(&project, "base/web.yaml");
    }
}

/// The keys of maps are not fields.
#[test]
fn capitalized_labels_of_a_transformer_do_not_prevent_a_rewrite() {
    let project = project("resources: [../base]\ntransformers: [config.yaml]\n");
    let config = "apiVersion: builtin\nkind: LabelTransformer\nmetadata: {name: t}\n\
                  labels: {Name: shop, Path: a}\nfieldSpecs: [{path: metadata/labels, create: true}]\n";
    project.write("over/config.yaml", config);
    let run = project.run(&["rewrite", "--write", "--mesh-version", "1.28", "."]);
    run.exits(0);
    assert_ne!(project.read("base/web.yaml"), WEB);
}

#[test]
fn pods_of_components_are_not_rewritten_below_two_spellings_that_kustomize_merges() {
    let overlay = "resources: [ns.yaml]\ncomponents: [../base]\n\
                   CommonAnnotations: {proxy.istio.io/config: 'concurrency: 2'}\ncommonAnnotations: {team: x}\n";
    let project = project(overlay);
    project.write("over/ns.yaml", join(&[INJECTED, STRICT]));
    let component =
        "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nresources: [web.yaml]\n";
    project.write("base/kustomization.yaml", component);
    assert_not_rewritten(&project, "base/web.yaml");
}

/// A small generator of pseudorandom numbers (xorshift64).
struct Random(u64);

impl Random {
    fn coin(&mut self) -> bool {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 >> 32 & 1 == 1
    }

    /// Changes the case of the letters of keys, which are marked by `@` in front.
    fn spelled(&mut self, text: &str) -> String {
        let mut spelled = String::new();
        let mut is_key = false;
        for letter in text.chars() {
            match letter {
                '@' => is_key = true,
                ':' => {
                    is_key = false;
                    spelled.push(letter);
                }
                letter if is_key && self.coin() => spelled.push(letter.to_ascii_uppercase()),
                letter if is_key && self.coin() => spelled.push(letter.to_ascii_lowercase()),
                letter => spelled.push(letter),
            }
        }
        spelled
    }
}

const OVERLAY: &str = "\
@apiVersion: kustomize.config.k8s.io/v1beta1
@kind: Kustomization
@metadata: {@name: x}
@resources: [web.yaml]
@bases: [base]
@components: [part]
@namespace: other
@namePrefix: a-
@nameSuffix: -z
@commonLabels: {Team: one}
@commonAnnotations: {Note: two}
@labels: [{@pairs: {Tier: front}, @includeTemplates: true}]
@images: [{@name: nginx, @newName: other, @newTag: '1'}]
@imageTags: [{@name: busybox, @newTag: '2'}]
@replicas: [{@name: web, @count: 3}]
@generatorOptions: {@disableNameSuffixHash: true}
@buildMetadata: []
@patchesStrategicMerge:
- |-
  apiVersion: apps/v1
  kind: Deployment
  metadata: {name: web, namespace: shop}
  spec: {template: {metadata: {annotations: {s: m}}}}
@patchesJson6902:
- @target: {@group: apps, @version: v1, @kind: Deployment, @name: web}
  @patch: '- {op: add, path: /metadata/labels, value: {j: k}}'
@patches:
- @target: {@labelSelector: '!none', @annotationSelector: '!none'}
  @path: p.yaml
- @target: {@kind: Deployment, @name: web}
  @patch: '{apiVersion: apps/v1, kind: Deployment, metadata: {name: renamed}}'
  @options: {@allowNameChange: true}
";

fn objects(values: impl Iterator<Item = Value>) -> Vec<String> {
    let mut all: Vec<String> = values
        .map(|mut value| {
            // The renderer does not model the number of replicas.
            if let Some(spec) = value.pointer_mut("/spec").and_then(Value::as_object_mut) {
                spec.remove("replicas");
            }
            serde_json::to_string_pretty(&value).unwrap()
        })
        .collect();
    all.sort();
    all
}

#[test]
fn random_capitalization_renders_as_kustomize_builds_it() {
    let Some(binary) = kustomize() else { return };
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for _ in 0..12 {
        let folder = TempDir::new().unwrap();
        let write = |path: &str, text: &str| {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let overlay = random.spelled(OVERLAY);
        write("kustomization.yaml", &overlay);
        write("web.yaml", WEB);
        write(
            "p.yaml",
            "- {op: add, path: /spec/template/metadata/annotations/from, value: file}",
        );
        write("base/b.yaml", &WEB.replace("name: web", "name: two"));
        write(
            "base/Kustomization",
            &random.spelled("@resources: [b.yaml]\n"),
        );
        let part = "@kind: Component\n@apiVersion: kustomize.config.k8s.io/v1alpha1\n@commonAnnotations: {Part: yes-it-is}\n";
        write("part/kustomization.yml", &random.spelled(part));
        let built = Command::new(&binary)
            .arg("build")
            .arg(folder.path())
            .output()
            .unwrap();
        let error = String::from_utf8_lossy(&built.stderr);
        assert!(built.status.success(), "{overlay}\n{error}");
        let built = String::from_utf8(built.stdout).unwrap();
        let documents = serde_yaml::Deserializer::from_str(&built);
        let expected = objects(documents.map(|document| {
            let value = serde_yaml::Value::deserialize(document).unwrap();
            serde_json::to_value(value).unwrap()
        }));
        let set = load(&Request {
            targets: vec![Input::Path(".".into())],
            working_directory: folder.path().to_path_buf(),
            ..Request::default()
        });
        let renderings = render(&set);
        let [rendering] = renderings.as_slice() else {
            panic!("{overlay}\n{} renderings", renderings.len());
        };
        assert_eq!(rendering.notes, [], "{overlay}");
        let found = rendering
            .documents
            .iter()
            .flat_map(|rendered| Object::all_in(&rendered.document));
        let found = objects(found.map(|object| from_node(object.node).unwrap()));
        assert_eq!(found.join("\n"), expected.join("\n"), "{overlay}");
    }
}
