//! Random edits of one file: a check that keeps the facts has the result of a check of all files.

use std::fs;
use std::path::PathBuf;

use meshprobe::engine::{self, LiveCheck, LiveView, RenderedOverlays, check_live};
use meshprobe::filesystem::FileSystem;
use meshprobe::settings::Settings;
use meshprobe::source::{Input, Request, SourceSet};

use super::mesh_manifest::MeshManifest;
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
    /// A fact in front of the Deployment, which therefore moves.
    first: Option<MeshManifest>,
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
            first: None,
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
        match random.below(18) {
            16 | 17 => match &mut self.first {
                Some(first) => first.edit(random),
                None => self.first = Some(MeshManifest::new(random)),
            },
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
                self.comment = *random.one_of(&[
                    "",
                    "# a comment\n",
                    "# \u{e4}\u{1f600}\n\n",
                    "# Source: absent/templates/web.yaml\n",
                    "# Source: chart/templates/web.yaml\n",
                ]);
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
            first,
            end,
            has_crlf,
        } = self;
        let first = first.as_ref().map(|first| format!("{}---\n", first.text()));
        let first = first.unwrap_or_default();
        let text = format!(
            "{first}{comment}apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: {name}, namespace: {namespace}}}\nspec:\n  \
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

/// Files with several facts, each of which is edited in one respect at a time.
const FACTS: [&str; 2] = ["mesh/facts.yaml", "base/facts.yaml"];

const PATCH: &str = "overlays/prod/patch.yaml";

/// Files of other kinds, with the number of edits of a workload for each edit of one of them.
const OTHERS: [&str; 4] = [
    "mesh/mesh.yaml",
    "base/mesh.yaml",
    "base/kustomization.yaml",
    "overlays/prod/kustomization.yaml",
];
const OTHERS_EACH: usize = 12;

const RENDERED: &str = "---\n# Source: chart/templates/web.yaml\napiVersion: v1\nkind: Service\n\
                        metadata: {name: rendered}\n";
const SET: &str = "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: set}\n\
                   spec: {generators: [{git: {directories: [{path: overlays/*}]}}], template: {}}\n";
const DEPLOYED: &str = "flux/apps.yaml";
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
    /// The manifests in each of [`FACTS`].
    facts: Vec<Vec<MeshManifest>>,
    number: usize,
    left: usize,
    log: Vec<String>,
    /// The last edited file, if its state has not been shown.
    pending: Option<PathBuf>,
    kept: usize,
    kept_renderings: usize,
    /// The edits of facts after which not all facts were collected again.
    replaced: usize,
    collected: usize,
    skipped: usize,
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
        } else if number < 4 {
            let at = random.below(FACTS.len());
            let facts = &mut self.facts[at];
            let edited = random.below(facts.len());
            facts[edited].edit(random);
            (FACTS[at], all_of(facts))
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
        let edited = self.pending.take().unwrap_or_default();
        let edited = edited.to_string_lossy();
        if live.has_kept_facts {
            self.kept += 1;
            self.kept_renderings += usize::from(!edited.contains("apps"));
            self.replaced += usize::from(edited.ends_with("facts.yaml"));
        } else {
            self.collected += 1;
        }
        let mut fresh = Once(Vec::new());
        let files = (engine::load(&self.request), RenderedOverlays::default());
        check_live(files, &Settings::default(), &pool(), &mut fresh);
        let last = self.log.last();
        assert_eq!(shown(&live), fresh.0, "{last:#?}");
    }

    fn is_outdated(&mut self, _: &SourceSet) -> bool {
        let is_outdated = self.left > 0 && self.random.below(8) == 0;
        self.skipped += usize::from(is_outdated);
        is_outdated
    }

    fn edited(&mut self, set: &SourceSet) -> Option<SourceSet> {
        // In the middle, Flux deploys one of the folders.
        if self.left == self.number / 2 && !self.project.path(DEPLOYED).exists() {
            self.project.write(DEPLOYED, FLUX);
            return None;
        }
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

/// Returns a stream of manifests.
fn all_of(facts: &[MeshManifest]) -> String {
    let texts: Vec<String> = facts.iter().map(MeshManifest::text).collect();
    texts.join("---\n")
}

/// A view of a new project.
fn view<'p>(project: &'p Project, number: usize) -> Edited<'p> {
    let mut random = Random::new();
    let manifests: Vec<Manifest> = WORKLOADS
        .iter()
        .map(|(_, name)| Manifest::new(name))
        .collect();
    for ((path, _), manifest) in WORKLOADS.iter().zip(&manifests) {
        project.write(path, manifest.text());
    }
    for path in ["mesh/mesh.yaml", "base/mesh.yaml"] {
        project.write(path, mesh_fact(&mut random));
    }
    let facts: Vec<Vec<MeshManifest>> = FACTS.iter().map(|_| MeshManifest::all()).collect();
    for (path, facts) in FACTS.iter().zip(&facts) {
        project.write(path, all_of(facts));
    }
    let base = "resources: [web.yaml, mesh.yaml, facts.yaml]\n";
    project.write("base/kustomization.yaml", base);
    let overlay = "resources: [../../base]\nnamespace: shop\npatches: [{path: patch.yaml}]\n";
    project.write("overlays/prod/kustomization.yaml", overlay);
    project.write(
        "overlays/dev/kustomization.yaml",
        "resources: [../../base]\n",
    );
    project.write(PATCH, patch(&mut random));
    project.write("vendor/rendered.yaml", RENDERED);
    project.write(
        "chart/Chart.yaml",
        "{apiVersion: v2, name: chart, version: 1.0.0}\n",
    );
    project.write("chart/templates/web.yaml", RENDERED);
    project.write("argo/set.yaml", SET);
    let request = Request {
        targets: vec![Input::Path(project.path(""))],
        working_directory: project.path(""),
        ..Request::default()
    };
    Edited {
        project,
        request,
        random,
        manifests,
        facts,
        number,
        left: number,
        log: Vec::new(),
        pending: None,
        kept: 0,
        kept_renderings: 0,
        replaced: 0,
        collected: 0,
        skipped: 0,
    }
}

/// A view that compares the states before and after one edit of a file with checks of all files.
struct EditedOnce<'p> {
    project: &'p Project,
    request: Request,
    edit: Option<(&'static str, String)>,
    /// What was shown of each state.
    shown: Vec<String>,
}

impl LiveView for EditedOnce<'_> {
    fn show(&mut self, live: LiveCheck<'_, '_>) {
        let mut fresh = Once(Vec::new());
        let files = (engine::load(&self.request), RenderedOverlays::default());
        check_live(files, &Settings::default(), &pool(), &mut fresh);
        let shown = shown(&live);
        assert_eq!(shown, fresh.0);
        self.shown.push(shown.concat());
    }

    fn edited(&mut self, set: &SourceSet) -> Option<SourceSet> {
        let (path, text) = self.edit.take()?;
        self.project.write(path, text);
        let path = fs::canonicalize(self.project.path(path)).unwrap();
        set.with_changed_contents(&[path], &FileSystem::default())
    }
}

#[test]
fn an_edit_after_which_a_kustomization_changes_the_object_demotes_its_fix() {
    let project = Project::new();
    let mut manifest = Manifest::new("web");
    manifest.annotation = "annotations: {sidecar.istio.io/rewriteAppHTTPProbers: 'false'}";
    let text = manifest.text().replace("labels: {app: web}", "");
    let edited = text.replace("image: nginx", "image: other");
    project.write("base/web.yaml", text);
    project.write("base/kustomization.yaml", "resources: [web.yaml]\n");
    let overlay = "resources: [../base]\nimages: [{name: other, newTag: '1'}]\n";
    project.write("prod/kustomization.yaml", overlay);
    let mesh = "apiVersion: v1\nkind: Namespace\n\
                metadata: {name: shop, labels: {istio-injection: enabled}}\n---\n\
                apiVersion: security.istio.io/v1\nkind: PeerAuthentication\n\
                metadata: {name: default, namespace: shop}\nspec: {mtls: {mode: STRICT}}\n";
    project.write("mesh.yaml", mesh);
    let request = Request {
        targets: vec![Input::Path(project.path(""))],
        working_directory: project.path(""),
        ..Request::default()
    };
    let files = (engine::load(&request), RenderedOverlays::default());
    let mut view = EditedOnce {
        project: &project,
        request,
        edit: Some(("base/web.yaml", edited)),
        shown: Vec::new(),
    };
    check_live(files, &Settings::default(), &pool(), &mut view);
    let [before, after] = view.shown.try_into().unwrap();
    let demoted = "a kustomization changes the object";
    assert!(!before.contains(demoted) && after.contains(demoted));
}

#[test]
fn checks_after_edits_have_the_result_of_a_check_of_all_files() {
    let project = Project::new();
    let number = edits(EDITS);
    let mut view = view(&project, number);
    let (settings, pool) = (Settings::default(), pool());
    let mut files = (engine::load(&view.request), RenderedOverlays::default());
    loop {
        let (before, rendered) = check_live(files, &settings, &pool, &mut view);
        if view.left == 0 && view.pending.is_none() {
            break;
        }
        let edited = view.pending.clone().unwrap_or_default();
        let is_deployed = project.path(DEPLOYED).exists();
        let after = before
            .with_changed_contents(&[edited], &FileSystem::default())
            .filter(|set| set.file(DEPLOYED).is_some() == is_deployed)
            .unwrap_or_else(|| engine::load(&view.request));
        let rendered = RenderedOverlays::after(&after, (&before, rendered));
        files = (after, rendered);
    }
    let counts = [
        ("kept", view.kept, 4),
        ("kept renderings", view.kept_renderings, 12),
        ("replaced facts", view.replaced, 30),
        ("collected", view.collected, 6),
        ("skipped", view.skipped, 12),
    ];
    println!("{counts:?}");
    for (what, count, least) in counts {
        assert!(count > number / least, "{what}: {counts:?}");
    }
}
