//! The measured outcomes: `docs/evidence/live-proof.csv` and `docs/evidence/live-proof-osm.csv`.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::cells::Cell;

/// The release of Istio that was measured, and the one of Open Service Mesh.
const ISTIO: (u16, u16) = (1, 31);
const OSM: (u16, u16) = (1, 2);

/// A measured outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Measured {
    pub(super) outcome: &'static str,
    /// The file and its rows.
    pub(super) rows: String,
}

/// The results of a probe: for each workload, mode and state of the application.
pub(super) struct Evidence {
    sidecar: BTreeMap<[String; 3], Results>,
    osm: BTreeMap<[String; 3], Results>,
}

/// Whether the probe passed: without a mesh, as written, and rewritten.
type Results = [bool; 3];

impl Evidence {
    pub(super) fn read() -> Self {
        Self {
            sidecar: read("live-proof.csv", ["workload", "mode", "application"]),
            osm: read("live-proof-osm.csv", ["slot", "handler", "application"]),
        }
    }

    /// Returns the measured outcome of a cell; `None` if it was not measured.
    pub(super) fn of(&self, cell: &Cell) -> Option<Measured> {
        match cell.mesh {
            // The sidecar of the live proof is an ordinary container.
            "istio-sidecar" if cell.setup == "sidecar" && covers(cell, ISTIO) => {
                let (workload, mode) = (workload(cell)?, mode(cell.mtls));
                let column = if cell.rewrite == "on" { 2 } else { 1 };
                outcome(&self.sidecar, [workload, mode], column, "live-proof.csv")
            }
            "osm" if covers(cell, OSM) => {
                let handler = handler(cell.probe)?;
                outcome(
                    &self.osm,
                    ["readinessProbe", handler],
                    2,
                    "live-proof-osm.csv",
                )
                .or_else(|| {
                    outcome(
                        &self.osm,
                        ["livenessProbe", handler],
                        2,
                        "live-proof-osm.csv",
                    )
                })
            }
            _ => None,
        }
    }
}

fn covers(cell: &Cell, release: (u16, u16)) -> bool {
    (cell.first..=cell.last).contains(&release)
}

/// Returns the workload that was measured for a probe: its port is in no Service, or excluded.
fn workload(cell: &Cell) -> Option<&'static str> {
    Some(match (cell.probe, cell.port) {
        ("httpGet", "captured") => "http-live-nosvc",
        ("httpGet", _) => "http-live-excl",
        ("httpGet HTTPS", "captured") => "https-live-nosvc",
        ("httpGet HTTPS", _) => "https-live-excl",
        ("tcpSocket", "captured") => "tcp-dead-nosvc",
        ("tcpSocket", _) => "tcp-live-excl",
        ("grpc", "captured") => "grpc-live-nosvc",
        ("grpc", _) => "grpc-live-excl",
        _ => return None,
    })
}

fn handler(probe: &str) -> Option<&'static str> {
    Some(match probe {
        "httpGet" => "http",
        "httpGet HTTPS" => "https",
        "tcpSocket" => "tcpSocket",
        "grpc" => "grpc",
        _ => return None,
    })
}

fn mode(mtls: &str) -> &'static str {
    match mtls {
        "DISABLE" => "disable",
        "unset" => "unset",
        "PERMISSIVE" => "permissive",
        "STRICT" => "strict",
        "PERMISSIVE, AuthorizationPolicy" => "permissive-authz",
        "STRICT, portLevelMtls DISABLE" => "strict-portlevel-disable",
        other => panic!("no evidence for {other}"),
    }
}

/// Returns the outcome that the results for a living and a dead application show.
fn outcome(
    all: &BTreeMap<[String; 3], Results>,
    [first, second]: [&str; 2],
    column: usize,
    file: &str,
) -> Option<Measured> {
    let of = |application: &str| all.get(&[first, second, application].map(str::to_owned));
    let (alive, dead) = (of("alive")?, of("dead")?);
    assert_eq!(
        (alive[0], dead[0]),
        (true, false),
        "{first} {second} without a mesh"
    );
    let outcome = match (alive[column], dead[column]) {
        (true, false) => "ok",
        (false, false) => "fails",
        (true, true) => "always-passes",
        (false, true) => panic!("{first} {second} is inverted"),
    };
    let name = if column == 2 { "rewritten" } else { "original" };
    Some(Measured {
        outcome,
        rows: format!("{file}: {first}, {second}, {name}"),
    })
}

fn read(file: &str, key: [&str; 3]) -> BTreeMap<[String; 3], Results> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("docs/evidence")
        .join(file);
    let text = fs::read_to_string(path).unwrap();
    let mut lines = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let names = lines.next().unwrap();
    let index = |name: &str| names.iter().position(|other| *other == name).unwrap();
    lines
        // A workload that is not rewritten has no rewritten result.
        .filter(|row| row.iter().all(|value| !value.is_empty()))
        .map(|row| {
            let results =
                ["without_mesh", "original", "rewritten"].map(|name| row[index(name)] == "pass");
            (key.map(|name| row[index(name)].to_owned()), results)
        })
        .collect()
}
