//! Generates `docs/meshes.md` from the models: the treatment of each handler by each mesh. The test fails if the page
//! is out of date.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use crate::support::manifest::{Manifest, Pod};
use crate::support::meshprobe;
use meshprobe::context::Context;
use meshprobe::engine::report;
use meshprobe::mesh::{self, Mesh, MeshSetup, Version};
use meshprobe::predict::{self, predict_all};
use meshprobe::rules;
use meshprobe::settings::{MeshKind, Settings};
use meshprobe::source::{SourceFile, SourceSet};

const HEAD: &str = "\
# Meshes

This page shows what each mesh does to each kind of handler, and what meshprobe offers for it. It is generated from the
models that `predict`, `check` and `rewrite` use. Their facts name their sources in `crates/mesh/src/mesh`.

- **Rewritten to**: the handler after the mesh's rewrite at admission.
- **Outcome**: the prediction and its reason. `fails` means that the probe fails although the application is up,
  `always-passes` that it can never fail, `target-changed` that it tests something else, `refused` that the pod is not
  created, `not-in-mesh` that no proxy is involved.
- **Found by**: the rules of `check` that report it.

Offers: **rewrite** writes the rewrite into the manifest ahead of deployment. **preview** shows the output of the webhook
(`rewrite --preview`), which must not be deployed. **lint** only predicts and checks, because the mesh does not change
probes, or the release is too old for a rewrite.

`--mesh auto`, the default, detects the mesh of each pod by the strongest evidence: a proxy in the manifest, labels and
annotations of the pod, those of its Namespace, objects of the mesh in its namespace, an installation anywhere in the tree.
`predict --explain` shows that evidence. `--mesh NAME` sets the mesh.
";

/// The six handlers: the name, and the field of the container.
const HANDLERS: [(&str, &str); 6] = [
    (
        "`httpGet`",
        "readinessProbe: {httpGet: {path: /healthz, port: 8080}}",
    ),
    (
        "`httpGet`, HTTPS",
        "readinessProbe: {httpGet: {path: /healthz, port: 8080, scheme: HTTPS}}",
    ),
    ("`tcpSocket`", "readinessProbe: {tcpSocket: {port: 8080}}"),
    ("`grpc`", "readinessProbe: {grpc: {port: 8080}}"),
    ("`exec`", "readinessProbe: {exec: {command: [/bin/check]}}"),
    (
        "hook, `httpGet`",
        "lifecycle: {preStop: {httpGet: {path: /drain, port: 8080}}}",
    ),
];

/// A row of a table: the handler, the rewritten handler, the outcome, and the rules that report it.
type Line = [String; 4];

fn settings(mesh: Mesh, (major, minor): (u16, u16)) -> Settings {
    Settings {
        mesh: MeshKind::One(mesh),
        mesh_version: Some(Version::new(major, minor)),
        ..Settings::default()
    }
}

/// Returns the rows of a mesh in a release, and the offer.
fn judged(mesh: Mesh, setup: &MeshSetup, release: (u16, u16)) -> (Vec<Line>, &'static str) {
    let pods = HANDLERS.iter().enumerate().map(|(index, (_, handler))| {
        let pod = Pod::new(&format!("web-{index}")).within("shop");
        pod.annotations(setup.annotations)
            .container("web")
            .field("image: web:1\nports: [{containerPort: 8080}]")
            .field(handler)
            .to_string()
    });
    let pods: Vec<String> = pods.collect();
    let text = format!("{}{}", setup.objects, pods.join("---\n"));
    let changed = |options: &[&str]| {
        let version = format!("{}.{}", release.0, release.1);
        let mesh = ["--mesh", mesh.as_str(), "--mesh-version", &version];
        let arguments = [&["rewrite", "--isolated"], &mesh[..], options, &["-"]].concat();
        meshprobe(Path::new("/"), &arguments, &text).stdout != text
    };
    let offer = match (changed(&[]), changed(&["--preview"])) {
        (true, _) => "rewrite",
        (false, true) => "preview",
        (false, false) => "lint",
    };
    let file = SourceFile::new(Arc::from("web.yaml"), Arc::from(text));
    let sources = SourceSet::new(vec![file]);
    let settings = settings(mesh, release);
    let context = Context::new(&sources, &[], &settings);
    let predictions = predict_all(&context);
    let findings = rules::check(&context, &predictions);
    let reports = report(&context, &predictions);
    let rows: Vec<_> = reports.iter().flat_map(|pod| &pod.handlers).collect();
    assert_eq!(rows.len(), HANDLERS.len(), "{}", setup.title);
    let lines = rows
        .iter()
        .zip(HANDLERS)
        .enumerate()
        .map(|(index, (row, (name, _)))| {
            let pod = format!("web-{index}");
            let of_pod = findings.iter().filter(|finding| {
                finding.outcome.is_some()
                    && finding
                        .object
                        .as_ref()
                        .is_some_and(|object| object.name == pod)
            });
            let mut found: Vec<String> = of_pod
                .map(|finding| format!("[{}]", finding.rule))
                .collect();
            found.dedup();
            let rewritten_to = match row.rewritten_to.as_str() {
                "" => String::new(),
                rewritten_to => format!("`{rewritten_to}`"),
            };
            let is_bad =
                ["fails", "always-passes", "target-changed"].contains(&row.outcome.as_str());
            assert_eq!(
                is_bad,
                !found.is_empty(),
                "{} {release:?} {name}",
                setup.title
            );
            let outcome = format!("{}: {}", row.outcome.as_str(), row.why);
            [name.to_owned(), rewritten_to, outcome, found.join(", ")]
        });
    (lines.collect(), offer)
}

/// Returns the tables of a mesh. Consecutive releases with the same rows share a table.
fn tables(mesh: Mesh, setup: &MeshSetup) -> String {
    let mut groups: Vec<(Vec<String>, Vec<Line>, &str)> = Vec::new();
    for release in setup.releases {
        let (lines, offer) = judged(mesh, setup, *release);
        let (major, minor) = release;
        let name = match setup.unreleased {
            Some(unreleased) if unreleased == *release => format!("{major}.{minor} (development)"),
            _ => format!("{major}.{minor}"),
        };
        match groups.last_mut() {
            Some((names, same, way)) if *same == lines && *way == offer => names.push(name),
            _ => groups.push((vec![name], lines, offer)),
        }
    }
    let mut text = String::new();
    for (names, lines, offer) in groups {
        let title = match (names.first(), names.last()) {
            _ if setup.releases.len() == 1 => setup.title.to_owned(),
            (Some(first), Some(last)) if first != last => {
                format!("{}, releases {first} to {last}", setup.title)
            }
            (first, _) => format!("{}, release {}", setup.title, first.unwrap()),
        };
        write!(text, "\n## {title}\n\nOffer: **{offer}**.\n\n").unwrap();
        text += "| handler | rewritten to | outcome | found by |\n|---|---|---|---|\n";
        for line in lines {
            writeln!(text, "| {} |", line.join(" | ")).unwrap();
        }
    }
    text
}

/// Returns the table of the newest proven releases.
fn proven_releases() -> String {
    let mut text = "\n## Proven releases\n\nThe newest release of each mesh whose own code was compared with meshprobe \
                    without a difference ([oracles](oracles.md)).\nThe models of the others come from their source code \
                    and documentation, and from recorded output.\n\n\
                    | mesh | release | tag or branch | commit | pods |\n|---|---|---|---|---|\n"
        .to_owned();
    for mesh in mesh::all() {
        let row = mesh::newest_proven(mesh).map_or_else(
            || "none | | |".to_owned(),
            |proven| {
                let (release, reference) = (proven.release, proven.reference);
                format!(
                    "{release} | {reference} | {} | {}",
                    proven.commit, proven.pods
                )
            },
        );
        writeln!(text, "| {} | {row} |", mesh.title()).unwrap();
    }
    text
}

/// Returns the tables of virtual machines, which have one check; the agent runs it.
fn machines() -> String {
    let mut text = String::new();
    for release in [(1, 23), (1, 28)] {
        write!(
            text,
            "\n## Istio, virtual machines, release 1.{}\n\nOffer: **rewrite** (`rewrite --vm` writes \
             `mesh.yaml`).\n\n| handler | rewritten to | \
             outcome | found by |\n|---|---|---|---|\n",
            release.1
        )
        .unwrap();
        for (name, probe) in MACHINES {
            let (outcome, found) = machine(release, probe);
            writeln!(text, "| {name} | | {outcome} | {found} |").unwrap();
        }
    }
    text
}

const MACHINES: [(&str, &str); 5] = [
    ("`httpGet`", "httpGet: {path: /healthz, port: 8080}"),
    (
        "`httpGet`, HTTPS",
        "httpGet: {path: /healthz, port: 8080, scheme: HTTPS}",
    ),
    ("`tcpSocket`", "tcpSocket: {port: 8080}"),
    ("`grpc`", "grpc: {port: 8080}"),
    ("`exec`", "exec: {command: [/bin/check]}"),
];

/// Returns the outcome of the check of a `WorkloadGroup`, and the rules that report it.
fn machine(release: (u16, u16), probe: &str) -> (String, String) {
    let spec = format!(
        "  template: {{serviceAccount: web}}
  probe:
    failureThreshold: 3
    {probe}"
    );
    let manifest = Manifest::new("networking.istio.io/v1", "WorkloadGroup", "web").within("shop");
    let manifest = manifest.spec(&spec).to_string();
    let file = SourceFile::new(Arc::from("web.yaml"), Arc::from(manifest));
    let sources = SourceSet::new(vec![file]);
    let settings = settings(Mesh::ISTIO, release);
    let context = Context::new(&sources, &[], &settings);
    let judged = predict::machines(&context);
    let [check] = judged.as_slice() else {
        panic!("expected one check");
    };
    let found = rules::check(&context, &[]);
    let found: Vec<String> = found
        .iter()
        .map(|finding| format!("[{}]", finding.rule))
        .collect();
    let is_fine = check.outcome == predict::Outcome::Ok;
    assert_eq!(is_fine, found.is_empty(), "{release:?} {probe}");
    let outcome = format!("{}: {}", check.outcome.as_str(), check.why);
    (outcome, found.join(", "))
}

/// Returns the targets of the links for the end of the page, because they would make the tables twice as wide.
fn targets(text: &str) -> String {
    let ids = rules::all().iter().map(|rule| rule.id.as_str());
    let linked = ids.filter(|id| text.contains(&format!("[{id}]")));
    let lines: BTreeSet<String> = linked
        .map(|id| format!("[{id}]: rules/{id}.md\n"))
        .collect();
    format!("\n{}", lines.into_iter().collect::<String>())
}

/// `MESHPROBE_UPDATE_DOCS=1` updates the page.
#[test]
fn the_page_matches_the_models() {
    let mut tables_of_all = String::new();
    for mesh in mesh::all() {
        assert!(!mesh::setups(mesh).is_empty(), "{mesh:?} has no setup");
        for setup in mesh::setups(mesh) {
            tables_of_all += &tables(mesh, setup);
        }
    }
    // Empty cells have no blanks at their edges.
    let text =
        format!("{HEAD}{}{tables_of_all}{}", proven_releases(), machines()).replace("|  |", "| |");
    let mut text = text.replace("|  |", "| |");
    text += &targets(&text);
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/meshes.md");
    if std::env::var_os("MESHPROBE_UPDATE_DOCS").is_some() {
        fs::write(&page, &text).unwrap();
    }
    let published = fs::read_to_string(&page).unwrap_or_default();
    assert!(
        published == text,
        "docs/meshes.md is out of date: run `MESHPROBE_UPDATE_DOCS=1 cargo test --test it meshes::docs`"
    );
}
