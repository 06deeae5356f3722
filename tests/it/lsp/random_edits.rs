//! Random edits: after each of them, the server shows what a server shows that has just read the same files.

use std::collections::BTreeMap;
use std::fs;

use serde_json::{Value, json};

use super::editor::Editor;
use crate::support::project::Project;

/// Number of edits; `MESHPROBE_LSP_EDITS` overrides it.
const EDITS: usize = 150;

/// After how many edits the diagnostics are compared.
const INTERVAL: usize = 3;

/// Returns the number of edits: `default`, unless the environment sets another one.
pub(super) fn edits(default: usize) -> usize {
    let number = std::env::var("MESHPROBE_LSP_EDITS");
    number.map_or(default, |number| number.parse().unwrap())
}

/// A generator of numbers with a fixed seed; `PROPTEST_RNG_SEED` overrides it.
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new() -> Self {
        let seed = std::env::var("PROPTEST_RNG_SEED");
        let seed: u64 = seed.map_or(1, |seed| seed.parse().unwrap());
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(super) fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap() % limit
    }

    pub(super) fn one_of<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len())]
    }
}

fn workload(random: &mut Random, name: &str) -> String {
    let namespace = random.one_of(&["namespace: shop", "namespace: bank", "labels: {a: b}"]);
    let annotations = *random.one_of(&[
        "",
        "annotations: {sidecar.istio.io/rewriteAppHTTPProbers: 'false'}",
        "annotations: {sidecar.istio.io/inject: 'false'}",
        "annotations: {traffic.sidecar.istio.io/excludeInboundPorts: '8080'}",
    ]);
    let probe = random.one_of(&[
        "httpGet: {path: /ready, port: 8080}",
        "httpGet: {path: /ready, port: '8080'}",
        "httpGet: {path: /ready, port: http}",
        "tcpSocket: {port: 8080}",
        "grpc: {port: 9090}",
        "exec: {command: [curl, 'http://localhost:8080']}",
        "httpGet: {path: /app-health/web/readyz, port: 15020}",
    ]);
    let comment = *random.one_of(&[
        "",
        "# meshprobe: ignore[strict-probe-not-rewritten] known\n        ",
    ]);
    format!(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: {name}, {namespace}}}\nspec:\n  selector: {{matchLabels: {{app: {name}}}}}\n  \
         template:\n    metadata:\n      labels: {{app: {name}}}\n      {annotations}\n    spec:\n      containers:\n      - name: web\n        image: nginx\n        \
         {comment}readinessProbe: {{{probe}}}\n"
    )
}

pub(super) fn mesh_fact(random: &mut Random) -> String {
    let namespace = *random.one_of(&["shop", "bank", "istio-system"]);
    match random.below(5) {
        0 => {
            let label = random.one_of(&[
                "istio-injection: enabled",
                "istio-injection: disabled",
                "istio.io/rev: canary",
                "a: b",
            ]);
            format!(
                "apiVersion: v1\nkind: Namespace\nmetadata: {{name: {namespace}, labels: {{{label}}}}}\n"
            )
        }
        1 | 2 => {
            let mode = random.one_of(&["STRICT", "PERMISSIVE", "DISABLE", "Strict"]);
            let selector = random.one_of(&["", "selector: {matchLabels: {app: web}}, "]);
            format!(
                "apiVersion: security.istio.io/v1\nkind: PeerAuthentication\nmetadata: {{name: default, namespace: {namespace}}}\nspec: {{{selector}mtls: {{mode: {mode}}}}}\n"
            )
        }
        3 => format!(
            "apiVersion: security.istio.io/v1\nkind: AuthorizationPolicy\nmetadata: {{name: deny, namespace: {namespace}}}\nspec: {{}}\n"
        ),
        _ => {
            let port = random.one_of(&[
                "{port: 80, targetPort: 8080, name: http2}",
                "{port: 80, targetPort: 8080, appProtocol: https}",
            ]);
            format!(
                "apiVersion: v1\nkind: Service\nmetadata: {{name: web, namespace: {namespace}}}\nspec: {{selector: {{app: web}}, ports: [{port}]}}\n"
            )
        }
    }
}

pub(super) fn kustomization(random: &mut Random, is_base: bool) -> String {
    if is_base {
        let resources = random.one_of(&[
            "[web.yaml]",
            "[web.yaml, mesh.yaml]",
            "[web.yaml, absent.yaml]",
            "[]",
        ]);
        return format!("resources: {resources}\n");
    }
    let namespace = random.one_of(&["namespace: shop", "namespace: bank", ""]);
    let patch = *random.one_of(&[
        "",
        "patches: [{path: patch.yaml}]\n",
        "commonAnnotations: {sidecar.istio.io/rewriteAppHTTPProbers: 'false'}\n",
    ]);
    format!("resources: [../../base]\n{namespace}\n{patch}")
}

pub(super) fn patch(random: &mut Random) -> String {
    let port = random.one_of(&["8080", "'8080'", "15021"]);
    format!(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: web}}\nspec:\n  template:\n    spec:\n      containers:\n      - name: web\n        readinessProbe: {{httpGet: {{path: /, port: {port}}}}}\n"
    )
}

const CONFIGURATION: &str = ".meshprobe.yaml";

const NOT_VALID: &str = "apiVersion: meshprobe.dev/v1alpha1\nkind: MeshProbe\nspec: {asume: {}}\n";

fn configuration(random: &mut Random) -> String {
    if random.below(8) == 0 {
        return NOT_VALID.to_owned();
    }
    let spec = random.one_of(&[
        "assume: {mtls: STRICT}",
        "mesh: {version: '1.28'}",
        "rules: {tcp-probe-always-passes: error}",
        "ignore: [{rule: strict-probe-not-rewritten, path: 'apps/*', reason: known}]",
    ]);
    format!("apiVersion: meshprobe.dev/v1alpha1\nkind: MeshProbe\nspec:\n  {spec}\n")
}

fn flux(random: &mut Random) -> String {
    let path = random.one_of(&["./overlays/prod", "./apps", "./absent"]);
    format!(
        "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {{name: apps, namespace: flux-system}}\nspec: {{path: {path}, targetNamespace: bank}}\n"
    )
}

fn values(random: &mut Random) -> String {
    let value = random.one_of(&["true", "false"]);
    format!("sidecarInjectorWebhook: {{rewriteAppHTTPProbe: {value}}}\nmeshConfig: {{}}\n")
}

/// The paths of the tree, with the generator of their texts.
fn text_of(random: &mut Random, path: &str) -> String {
    match path {
        CONFIGURATION => configuration(random),
        "base/kustomization.yaml" => kustomization(random, true),
        "overlays/prod/patch.yaml" => patch(random),
        "flux/apps.yaml" => flux(random),
        "istiod/values.yaml" => values(random),
        _ if path.ends_with("kustomization.yaml") => kustomization(random, false),
        _ if path.contains("mesh") => {
            let (one, other) = (mesh_fact(random), mesh_fact(random));
            format!("{one}---\n{other}")
        }
        _ => {
            let name = if path.contains("base") {
                "web".to_owned()
            } else {
                path.replace(['/', '.'], "-")
            };
            let mut text = workload(random, &name);
            if random.below(6) == 0 {
                text.push_str("---\n");
                text.push_str(&mesh_fact(random));
            }
            text
        }
    }
}

const PATHS: [&str; 14] = [
    "mesh/mesh.yaml",
    "mesh/mesh-two.yaml",
    "apps/one.yaml",
    "apps/two.yaml",
    "apps/three/app.yaml",
    "base/kustomization.yaml",
    "base/web.yaml",
    "base/mesh.yaml",
    "overlays/prod/kustomization.yaml",
    "overlays/prod/patch.yaml",
    "overlays/dev/kustomization.yaml",
    "flux/apps.yaml",
    "istiod/values.yaml",
    CONFIGURATION,
];

/// Returns the diagnostics of a server that has just read the files.
fn fresh(project: &Project) -> BTreeMap<String, Vec<Value>> {
    let mut editor = Editor::open(project);
    let shown = std::mem::take(&mut editor.shown);
    editor.shut_down();
    shown
}

#[test]
fn diagnostics_after_random_edits_are_those_of_a_server_that_reads_all_files_again() {
    let mut random = Random::new();
    let project = Project::new();
    for path in PATHS.iter().filter(|path| **path != CONFIGURATION) {
        project.write(path, text_of(&mut random, path));
    }
    let mut editor = Editor::open(&project);
    let mut open: Vec<&str> = Vec::new();
    let mut log: Vec<String> = Vec::new();
    let mut is_wrong = false;
    let mut with_diagnostics = 0;
    let all = edits(EDITS);
    for number in 1..=all {
        // The server keeps the last valid settings, which a new one does not know: correct them with the next edit.
        let path = match is_wrong {
            true => CONFIGURATION,
            false => *random.one_of(&PATHS),
        };
        let exists = project.path(path).exists();
        let is_open = open.contains(&path);
        match random.below(10) {
            // A change on disk: git has checked out another state.
            0 if !is_open => {
                project.write(path, text_of(&mut random, path));
                editor.changed_on_disk(path, if exists { 2 } else { 1 });
            }
            1 if exists && !is_open => {
                fs::remove_file(project.path(path)).unwrap();
                editor.changed_on_disk(path, 3);
            }
            2 if is_open => {
                open.retain(|other| *other != path);
                editor.close(path);
            }
            _ => {
                let mut text = text_of(&mut random, path);
                if random.below(12) == 0 && path != CONFIGURATION {
                    text.push_str("half: [typed\n");
                }
                if is_open {
                    editor.change(path, &text);
                } else {
                    editor.open_document(path, &text);
                    open.push(path);
                }
                project.write(path, &text);
                editor.save(path);
                if !exists {
                    editor.changed_on_disk(path, 1);
                }
            }
        }
        let configuration = fs::read_to_string(project.path(CONFIGURATION));
        is_wrong = configuration.is_ok_and(|text| text == NOT_VALID);
        log.push(format!("{number} {path}"));
        if number % INTERVAL == 0 && !is_wrong {
            editor.settle();
            let expected = fresh(&project);
            assert_eq!(json!(editor.shown), json!(expected), "{log:#?}");
            with_diagnostics += usize::from(!expected.is_empty());
        }
    }
    assert!(with_diagnostics > all / INTERVAL / 2, "{with_diagnostics}");
    editor.shut_down();
}
