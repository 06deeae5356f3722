//! Random edits of one file: a check that keeps the facts has the result of a check of all files.

use std::fs;
use std::path::PathBuf;

use meshprobe::engine::{self, LiveCheck, LiveView, RenderedOverlays, check_live};
use meshprobe::filesystem::FileSystem;
use meshprobe::settings::Settings;
use meshprobe::source::{Input, Request, SourceSet};

use super::random_edits::{Random, edits, kustomization, mesh_fact, patch};
use crate::support::project::Project;

/// The default number of edits; `MESHPROBE_LSP_EDITS` overrides it.
const EDITS: usize = 300;

/// A Deployment that is edited in one respect at a time.
#[derive(Clone)]
struct Manifest {
    name: &'static str,
    namespace: &'static str,
    label: &'static str,
    annotation: &'static str,
    account: &'static str,
    probe: &'static str,
    suppression: &'static str,
    comment: &'static str,
    second: String,
    end: &'static str,
    has_crlf: bool,
}

impl Manifest {
    fn new(name: &'static str) -> Self {
        Self {
            name,
            namespace: "shop",
            label: "web",
            annotation: "",
            account: "",
            probe: "httpGet: {path: /ready, port: 8080}",
            suppression: "",
            comment: "",
            second: String::new(),
            end: "",
            has_crlf: false,
        }
    }

    /// Changes one respect.
    fn edit(&mut self, random: &mut Random) {
        // What prevents that facts are kept is removed soon, so that there are enough edits that keep them.
        if random.below(2) == 0 {
            (self.end, self.second) = ("", String::new());
        }
        match random.below(16) {
            0..4 => {
                self.probe = *random.one_of(&[
                    "httpGet: {path: /ready, port: 8080}",
                    "httpGet: {path: /ready, port: http}",
                    "httpGet: {path: /ready, port: 15021}",
                    "tcpSocket: {port: 8080}",
                    "grpc: {port: 9090}",
                    "httpGet: {path: /app-health/web/readyz, port: 15020}",
                ]);
            }
            4 | 5 => {
                self.annotation = *random.one_of(&[
                    "",
                    "annotations: {sidecar.istio.io/rewriteAppHTTPProbers: 'false'}",
                    "annotations: {sidecar.istio.io/inject: 'false'}",
                    "annotations: {traffic.sidecar.istio.io/excludeInboundPorts: '8080'}",
                    "annotations: {sidecar.istio.io/rewriteAppHTTPProber: 'false'}",
                ]);
            }
            6 => {
                self.account = *random.one_of(&[
                    "",
                    "serviceAccountName: web",
                    "hostNetwork: true",
                    "containers: []",
                ]);
            }
            7 | 8 => {
                self.suppression = *random.one_of(&[
                    "",
                    "# meshprobe: ignore[strict-probe-not-rewritten] known\n        ",
                    "# meshprobe: ignore[tcp-probe-always-passes] gr\u{fc}n\n        ",
                    "# meshprobe: ignore[unknown-rule]\n        ",
                ]);
            }
            9 | 10 => {
                self.comment = *random.one_of(&["", "# a comment\n", "# \u{e4}\u{1f600}\n\n"]);
            }
            11 => self.label = *random.one_of(&["web", "api"]),
            12 => self.namespace = *random.one_of(&["shop", "bank"]),
            13 => {
                self.second = match random.below(3) {
                    0 => format!("---\n{}", mesh_fact(random)),
                    _ => String::new(),
                };
            }
            14 => self.end = *random.one_of(&["", "", "half: [typed\n"]),
            _ => self.has_crlf = !self.has_crlf,
        }
    }

    fn text(&self) -> String {
        let Self {
            name,
            namespace,
            label,
            annotation,
            account,
            probe,
            suppression,
            comment,
            second,
            end,
            has_crlf,
        } = self;
        let text = format!(
            "{comment}apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: {name}, namespace: {namespace}}}\nspec:\n  \
             selector: {{matchLabels: {{app: {label}}}}}\n  template:\n    metadata:\n      labels: {{app: {label}}}\n      \
             {annotation}\n    spec:\n      {account}\n      containers:\n      - name: web\n        image: nginx\n        \
             {suppression}readinessProbe: {{{probe}}}\n{end}{second}"
        );
        match has_crlf {
            true => text.replace('\n', "\r\n"),
            false => text,
        }
    }
}

const WORKLOADS: [(&str, &str); 3] = [
    ("apps/one.yaml", "one"),
    ("apps/two.yaml", "two"),
    ("base/web.yaml", "web"),
];

const PATCH: &str = "overlays/prod/patch.yaml";

/// Files of other kinds, with the number of edits of a workload for each edit of one of them.
const OTHERS: [&str; 5] = [
    "mesh/mesh.yaml",
    "mesh/mesh-two.yaml",
    "base/mesh.yaml",
    "base/kustomization.yaml",
    "overlays/prod/kustomization.yaml",
];
const OTHERS_EACH: usize = 12;

const RENDERED: &str = "---\n# Source: chart/templates/web.yaml\napiVersion: v1\nkind: Service\n\
                        metadata: {name: rendered}\n";
const SET: &str = "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: set}\n\
                   spec: {generators: [{git: {directories: [{path: overlays/*}]}}], template: {}}\n";
const FLUX: &str = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\n\
                    metadata: {name: apps, namespace: flux-system}\nspec: {path: ./apps, targetNamespace: bank}\n";

/// What a check shows: the findings, what is not judged, and the predictions.
fn shown(live: &LiveCheck<'_, '_>) -> Vec<String> {
    let facts = live.facts.expect("the check has not panicked");
    let predictions = facts.predictions.iter().map(|pod| {
        let handlers: Vec<_> = pod
            .handlers
            .iter()
            .map(|handler| {
                (
                    &handler.verdict,
                    &handler.rewritten_to,
                    &handler.explanation,
                )
            })
            .collect();
        let facts = (&pod.mesh, &pod.dataplane, &pod.rewrite, &pod.agent_port);
        let place = pod.workload.object.name_span();
        format!("{} {place:?} {facts:?} {handlers:#?}", pod.workload.title())
    });
    [format!("{:#?}", live.outcome)]
        .into_iter()
        .chain(predictions)
        .collect()
}

/// A view of one state.
struct Once(Vec<String>);

impl LiveView for Once {
    fn show(&mut self, live: LiveCheck<'_, '_>) {
        self.0 = shown(&live);
    }

    fn edited(&mut self, _: &SourceSet) -> Option<SourceSet> {
        None
    }
}

/// A view that edits files until none are left to edit.
struct Edited<'p> {
    project: &'p Project,
    request: Request,
    random: Random,
    manifests: Vec<Manifest>,
    left: usize,
    log: Vec<String>,
    /// The last edited file, if its state has not been shown.
    pending: Option<PathBuf>,
    /// Whether the state that is shown next follows another one with the same facts.
    keeps_facts: bool,
    kept: usize,
    kept_renderings: usize,
    collected: usize,
}

impl Edited<'_> {
    /// Edits a file, and returns its path.
    fn edit(&mut self) -> PathBuf {
        let random = &mut self.random;
        let number = random.below(OTHERS_EACH + 1);
        let (path, text) = if number == 0 {
            let path = *random.one_of(&OTHERS);
            let text = match path {
                "base/kustomization.yaml" => kustomization(random, true),
                _ if path.ends_with("kustomization.yaml") => kustomization(random, false),
                _ => mesh_fact(random),
            };
            (path, text)
        } else if number == 1 {
            (PATCH, patch(random))
        } else {
            let at = random.below(WORKLOADS.len());
            self.manifests[at].edit(random);
            (WORKLOADS[at].0, self.manifests[at].text())
        };
        self.log.push(format!("{path}:\n{text}"));
        self.project.write(path, text);
        fs::canonicalize(self.project.path(path)).unwrap()
    }
}

impl LiveView for Edited<'_> {
    fn show(&mut self, live: LiveCheck<'_, '_>) {
        let edited = self.pending.take();
        if self.keeps_facts {
            self.kept += 1;
            let is_rendered = edited.is_some_and(|path| !path.to_string_lossy().contains("apps"));
            self.kept_renderings += usize::from(is_rendered);
        } else {
            self.collected += 1;
        }
        self.keeps_facts = true;
        let mut fresh = Once(Vec::new());
        let files = (engine::load(&self.request), RenderedOverlays::default());
        check_live(files, &Settings::default(), &pool(), &mut fresh);
        let last = self.log.last();
        assert_eq!(shown(&live), fresh.0, "{last:#?}");
    }

    fn edited(&mut self, set: &SourceSet) -> Option<SourceSet> {
        self.left = self.left.checked_sub(1)?;
        let path = self.edit();
        self.pending = Some(path.clone());
        set.with_changed_contents(&[path], &FileSystem::default())
    }
}

fn pool() -> rayon::ThreadPool {
    rayon::ThreadPoolBuilder::new()
        .num_threads(2)
        .build()
        .unwrap()
}

#[test]
fn edits_of_workloads_keep_the_facts_and_have_the_result_of_a_check_of_all_files() {
    let mut random = Random::new();
    let project = Project::new();
    let manifests: Vec<Manifest> = WORKLOADS
        .iter()
        .map(|(_, name)| Manifest::new(name))
        .collect();
    for ((path, _), manifest) in WORKLOADS.iter().zip(&manifests) {
        project.write(path, manifest.text());
    }
    for path in ["mesh/mesh.yaml", "mesh/mesh-two.yaml", "base/mesh.yaml"] {
        project.write(path, mesh_fact(&mut random));
    }
    project.write(
        "base/kustomization.yaml",
        "resources: [web.yaml, mesh.yaml]\n",
    );
    let overlay = "resources: [../../base]\nnamespace: shop\npatches: [{path: patch.yaml}]\n";
    project.write("overlays/prod/kustomization.yaml", overlay);
    project.write(
        "overlays/dev/kustomization.yaml",
        "resources: [../../base]\n",
    );
    project.write(PATCH, patch(&mut random));
    project.write("vendor/rendered.yaml", RENDERED);
    project.write("argo/set.yaml", SET);
    let request = Request {
        targets: vec![Input::Path(project.path(""))],
        working_directory: project.path(""),
        ..Request::default()
    };
    let number = edits(EDITS);
    let mut view = Edited {
        project: &project,
        request,
        random,
        manifests,
        left: number,
        log: Vec::new(),
        pending: None,
        keeps_facts: false,
        kept: 0,
        kept_renderings: 0,
        collected: 0,
    };
    let (settings, pool) = (Settings::default(), pool());
    let mut files = (engine::load(&view.request), RenderedOverlays::default());
    loop {
        let (before, rendered) = check_live(files, &settings, &pool, &mut view);
        if view.left == 0 && view.pending.is_none() {
            break;
        }
        // In the middle, Flux deploys one of the folders.
        if view.log.len() > number / 2 {
            project.write("flux/apps.yaml", FLUX);
        }
        let edited = view.pending.clone().unwrap_or_default();
        let after = before
            .with_changed_contents(&[edited], &FileSystem::default())
            .filter(|_| {
                project.path("flux/apps.yaml").exists() == before.file("flux/apps.yaml").is_some()
            })
            .unwrap_or_else(|| engine::load(&view.request));
        let rendered = RenderedOverlays::after(&after, (&before, rendered));
        view.keeps_facts = false;
        files = (after, rendered);
    }
    let counts = (view.kept, view.kept_renderings, view.collected);
    println!("kept facts, of which renderings; collected again: {counts:?}");
    assert!(view.kept > number / 3, "{counts:?}");
    assert!(view.kept_renderings > number / 12, "{counts:?}");
    assert!(view.collected > number / 6, "{counts:?}");
}
