//! The page `docs/matrix.md`.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::cells::{Cell, PROBES};
use super::sources::SourceKind;

const HEAD: &str = "\
<!-- Generated. -->

# Matrix

The outcome of each kind of probe in each mesh, release and mode. The page is generated from the models that `predict`
and `check` use; [meshes](meshes.md) shows the same models with the rewritten handlers and the rules.

The data contains more: the rewritten handler, the text of the kubelet, the rules, the certainty, and the source of each
cell with its file. [matrix.csv](data/matrix.csv) and [matrix.json](data/matrix.json)
([schema](schema/matrix-v1.json)) have one row per probe, configuration and range of releases.

| outcome | meaning |
|---|---|
| ok | the probe reports the state of the application |
| **fails** | the probe fails although the application is up |
| **passes** | the probe always passes, also if the application is down |
| refused | the pod is not created |
| outside | no proxy is involved |
| unknown | the manifests do not decide it |

The letter is the source: *m* measured with a real Envoy and the prober of the kubelet ([live proof](live-proof.md)), *c*
code of the project, *d* its documentation. A measured cell was measured with one release of its range: the newest one of
Istio, 1.2 of Open Service Mesh. `A → B since 1.25` means that B applies to 1.25 and later.

`exec` probes run inside of the container, where the mesh does not change them (c), so they have no column. A command that
connects to a port can still pass through the proxy
([exec-probe-through-sidecar](rules/exec-probe-through-sidecar.md), [exec-tcp-through-service](rules/exec-tcp-through-service.md)).
An init container without `restartPolicy: Always` cannot have probes: the API server refuses the pod (c).
";

/// The columns: the probe, and the heading.
const COLUMNS: [(&str, &str); 9] = [
    ("httpGet", "`httpGet`"),
    ("httpGet HTTPS", "HTTPS"),
    ("tcpSocket", "`tcpSocket`"),
    ("grpc", "`grpc`"),
    ("preStop httpGet", "`preStop`"),
    ("postStart httpGet", "`postStart`"),
    ("native sidecar httpGet", "native sidecar, `httpGet`"),
    ("native sidecar tcpSocket", "native sidecar, `tcpSocket`"),
    ("native sidecar startup httpGet", "native sidecar, startup"),
];

/// The meshes in the order of the page, with their titles.
const MESHES: [(&str, &str); 9] = [
    ("none", "No mesh"),
    ("istio-sidecar", "Istio, sidecar, 1.10 to 1.31"),
    ("istio-ambient", "Istio, ambient mode, 1.21 to 1.31"),
    ("osm", "Open Service Mesh"),
    ("kuma", "Kuma"),
    ("consul", "Consul"),
    ("linkerd", "Linkerd"),
    ("app-mesh", "AWS App Mesh"),
    ("cilium", "Cilium"),
];

pub(super) fn page(cells: &[Cell]) -> String {
    assert_columns(cells);
    assert_native_sidecar(cells);
    let count = |kind: SourceKind| cells.iter().filter(|cell| cell.source.kind == kind).count();
    let (measured, code) = (count(SourceKind::Measured), count(SourceKind::Code));
    let documentation = count(SourceKind::Documentation);
    let mut text = format!(
        "{HEAD}\nThe data has {} rows: {measured} measured, {code} from code, {documentation} from documentation.\n",
        cells.len()
    );
    for (mesh, title) in MESHES {
        let is_shown = |cell: &&Cell| cell.mesh == mesh && cell.setup != "native sidecar";
        let cells: Vec<&Cell> = cells.iter().filter(is_shown).collect();
        write!(text, "\n## {title}\n\n").unwrap();
        text.push_str(note(mesh));
        text.push_str(&table(&cells));
    }
    text
}

/// Returns the sentence about a mesh, followed by an empty line.
fn note(mesh: &str) -> &'static str {
    match mesh {
        "istio-sidecar" => {
            "`unset` (no PeerAuthentication) equals PERMISSIVE in every cell. The port is in no Service; the protocol of a Service \
             port can break more\n([prediction](prediction.md#order-of-decisions)). The Istio sidecar is an ordinary container: if it is \
             a native sidecar (since 1.24), the startup probe\nof another native sidecar has the outcome of its other probes, and \
             every other cell is the same.\nThe init container `istio-init` sets up the redirect, after the native sidecars before it have started. The CNI \
             plugin sets it up before all containers:\nwith it, a startup probe of a native sidecar that is not rewritten \
             **fails**, unless its port is excluded.\n\n"
        }
        "istio-ambient" => {
            "A NetworkPolicy or the network plugin of the cluster can drop the packets of the kubelet: then every probe \
             **fails**\n([ambient-netpol-blocks-probes](rules/ambient-netpol-blocks-probes.md), \
             [ambient-plugin-drops-probes](rules/ambient-plugin-drops-probes.md)).\n\n"
        }
        _ => "",
    }
}

/// Asserts what the page states about the probes without a column.
fn assert_columns(cells: &[Cell]) {
    for cell in cells {
        let expected = match cell.probe {
            "exec" => &["ok"][..],
            "init container httpGet" => &["refused"],
            _ => continue,
        };
        assert!(expected.contains(&cell.outcome), "{cell:?}");
    }
    assert_eq!(COLUMNS.len() + 2, PROBES.len());
    let unset = cells.iter().filter(|cell| cell.mtls == "unset");
    for cell in unset {
        let same = |other: &&Cell| {
            other.mtls == "PERMISSIVE"
                && other.setup == cell.setup
                && (other.mesh, other.rewrite, other.port, other.probe)
                    == (cell.mesh, cell.rewrite, cell.port, cell.probe)
                && (other.first, other.last) == (cell.first, cell.last)
        };
        let same = cells.iter().find(same).unwrap();
        assert_eq!(same.outcome, cell.outcome, "{cell:?}");
    }
}

/// Asserts what the page states about a native sidecar of Istio: it has no table.
fn assert_native_sidecar(cells: &[Cell]) {
    let mut compared = 0;
    for native in cells.iter().filter(|cell| cell.setup == "native sidecar") {
        let probe = match native.probe {
            "native sidecar startup httpGet" => "native sidecar httpGet",
            probe => probe,
        };
        let is_same = |other: &&Cell| {
            let key = |cell: &Cell| (cell.mtls, cell.rewrite, cell.port);
            other.setup == "sidecar"
                && key(other) == key(native)
                && other.probe == probe
                && (other.first..=other.last).contains(&native.last)
        };
        let same = cells.iter().find(is_same).unwrap();
        assert_eq!(same.outcome, native.outcome, "{native:?}\n{same:?}");
        compared += 1;
    }
    assert!(compared > 200, "{compared} cells");
}

/// Returns the table of a mesh: one row per configuration. Configurations with the same cells share a row.
fn table(cells: &[&Cell]) -> String {
    let mut rows: Vec<(String, String)> = Vec::new();
    for configuration in configurations(cells) {
        let of_row: Vec<&Cell> = cells
            .iter()
            .copied()
            .filter(|cell| title(cell) == configuration)
            .collect();
        rows.push((configuration, line(&of_row)));
    }
    let headings: Vec<&str> = COLUMNS.iter().map(|(_, heading)| *heading).collect();
    let mut text = format!(
        "| mode | {} |\n|{}\n",
        headings.join(" | "),
        "---|".repeat(COLUMNS.len() + 1)
    );
    for (title, line) in rows {
        writeln!(text, "| {title} | {line} |").unwrap();
    }
    text
}

/// Returns the titles of the rows, in the order of the cells, without `unset`.
fn configurations(cells: &[&Cell]) -> Vec<String> {
    let mut titles = Vec::new();
    for cell in cells.iter().filter(|cell| cell.mtls != "unset") {
        let title = title(cell);
        if !titles.contains(&title) {
            titles.push(title);
        }
    }
    titles
}

fn title(cell: &Cell) -> String {
    if cell.mtls.is_empty() {
        return cell.setup.clone();
    }
    let mut title = cell.mtls.to_owned();
    if !cell.rewrite.is_empty() {
        write!(title, "; rewrite {}", cell.rewrite).unwrap();
    }
    if cell.port == "excluded" {
        title.push_str("; port excluded");
    }
    title
}

fn line(cells: &[&Cell]) -> String {
    let mut by_probe: BTreeMap<&str, Vec<&Cell>> = BTreeMap::new();
    for cell in cells {
        by_probe.entry(cell.probe).or_default().push(cell);
    }
    let values: Vec<String> = COLUMNS
        .iter()
        .map(|(probe, _)| value(&by_probe[probe]))
        .collect();
    values.join(" | ")
}

/// Returns the outcomes of a probe, release by release.
fn value(cells: &[&Cell]) -> String {
    // Cells may differ in other values than the outcome and the source.
    let mut steps: Vec<(String, (u16, u16))> = Vec::new();
    for cell in cells {
        let text = outcome(cell);
        if steps
            .last()
            .is_none_or(|(last, _)| without_source(last) != without_source(&text))
        {
            steps.push((text, cell.first));
        } else if let Some((last, _)) = steps.last_mut() {
            // One measured release is enough.
            if cell.source.kind == SourceKind::Measured {
                *last = text;
            }
        }
    }
    let mut steps = steps.into_iter();
    let (mut text, _) = steps.next().unwrap();
    for (next, (major, minor)) in steps {
        write!(text, " → {next} since {major}.{minor}").unwrap();
    }
    text
}

fn without_source(text: &str) -> &str {
    text.rsplit_once(' ').map_or(text, |(outcome, _)| outcome)
}

fn outcome(cell: &Cell) -> String {
    let outcome = match cell.outcome {
        "ok" => "ok",
        "fails" => "**fails**",
        "always-passes" => "**passes**",
        "target-changed" => "**other target**",
        "not-in-mesh" => "outside",
        other => other,
    };
    let source = match cell.source.kind {
        SourceKind::Measured => "m",
        SourceKind::Code => "c",
        SourceKind::Documentation => "d",
    };
    format!("{outcome} {source}")
}
