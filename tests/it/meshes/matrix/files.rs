//! The data files of the matrix.

use serde_json::{Value, json};

use super::cells::Cell;

const COLUMNS: [&str; 15] = [
    "mesh",
    "setup",
    "releases",
    "mtls",
    "rewrite",
    "port",
    "probe",
    "outcome",
    "why",
    "certainty",
    "becomes",
    "kubelet",
    "rules",
    "source",
    "reference",
];

/// Returns the cells as CSV (RFC 4180 with line feeds).
pub(super) fn csv(cells: &[Cell]) -> String {
    let mut text = COLUMNS.join(",") + "\n";
    for cell in cells {
        let values = [
            cell.mesh.to_owned(),
            cell.setup.clone(),
            cell.releases(),
            cell.mtls.to_owned(),
            cell.rewrite.to_owned(),
            cell.port.to_owned(),
            cell.probe.to_owned(),
            cell.outcome.to_owned(),
            cell.why.to_owned(),
            cell.certainty.to_owned(),
            cell.rewritten_to.clone(),
            cell.kubelet.clone(),
            cell.rules.join(" "),
            cell.source.kind.as_str().to_owned(),
            reference(cell),
        ];
        let fields: Vec<String> = values.iter().map(|value| field(value)).collect();
        text.push_str(&fields.join(","));
        text.push('\n');
    }
    text
}

fn field(value: &str) -> String {
    if value.contains([',', '"', '\n']) {
        format!("\"{}\"", value.replace('"', "\"\""))
    } else {
        value.to_owned()
    }
}

/// Returns the measured rows, if there are any, and the code or documentation.
fn reference(cell: &Cell) -> String {
    match cell.source.evidence.as_str() {
        "" => cell.source.text.clone(),
        evidence => format!("{evidence}; {}", cell.source.text),
    }
}

/// Returns the cells as JSON, one line per cell (`docs/schema/matrix-v1.json`).
pub(super) fn json(cells: &[Cell]) -> String {
    let lines: Vec<String> = cells
        .iter()
        .map(|cell| format!("    {}", entry(cell)))
        .collect();
    format!(
        "{{\n  \"$schema\": \"../schema/matrix-v1.json\",\n  \"version\": 1,\n  \"cells\": [\n{}\n  ]\n}}\n",
        lines.join(",\n")
    )
}

fn entry(cell: &Cell) -> Value {
    let or_null = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    let name = |(major, minor): (u16, u16)| format!("{major}.{minor}");
    let releases = (cell.mesh != "none")
        .then(|| json!({ "first": name(cell.first), "last": name(cell.last) }));
    json!({
        "mesh": cell.mesh,
        "setup": cell.setup,
        "releases": releases,
        "mtls": or_null(cell.mtls),
        "rewrite": or_null(cell.rewrite).map(|rewrite| rewrite == "on"),
        "port": cell.port,
        "probe": cell.probe,
        "outcome": cell.outcome,
        "why": cell.why,
        "certainty": cell.certainty,
        "becomes": or_null(&cell.rewritten_to),
        "kubelet": or_null(&cell.kubelet),
        "rules": cell.rules,
        "source": {
            "kind": cell.source.kind.as_str(),
            "evidence": or_null(&cell.source.evidence),
            "reference": cell.source.text,
        },
    })
}
