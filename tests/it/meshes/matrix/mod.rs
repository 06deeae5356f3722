//! Generates the matrix "mesh × release × probe × mode → outcome" from the models: `docs/matrix.md`,
//! `docs/data/matrix.csv` and `docs/data/matrix.json`. The tests fail if they are out of date.

mod cells;
mod evidence;
mod files;
mod page;
mod setups;
mod sources;

use std::fs;
use std::path::Path;

use self::cells::{Cell, cells};
use self::evidence::Evidence;
use self::sources::SourceKind;

const HOW: &str = "run `MESHPROBE_UPDATE_DOCS=1 cargo test --test it meshes::matrix`";

fn compare(name: &str, wanted: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("docs")
        .join(name);
    if std::env::var_os("MESHPROBE_UPDATE_DOCS").is_some() {
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, wanted).unwrap();
    }
    let published = fs::read_to_string(&file).unwrap_or_default();
    assert!(published == wanted, "docs/{name} is out of date: {HOW}");
}

#[test]
fn the_page_and_the_data_match_the_models() {
    let cells = cells();
    compare("data/matrix.csv", &files::csv(cells));
    compare("data/matrix.json", &files::json(cells));
    compare("matrix.md", &page::page(cells));
    assert!((300..3000).contains(&cells.len()), "{} cells", cells.len());
}

/// The outcome of a measured cell must be the one that the evidence contains.
#[test]
fn the_measured_cells_have_the_measured_outcome() {
    let evidence = Evidence::read();
    let mut compared = 0;
    for cell in cells() {
        let Some(measured) = evidence.of(cell) else {
            assert_ne!(cell.source.kind, SourceKind::Measured, "{cell:?}");
            continue;
        };
        assert_eq!(cell.outcome, measured.outcome, "{cell:?}: {measured:?}");
        assert_eq!(cell.source.kind, SourceKind::Measured, "{cell:?}");
        compared += 1;
    }
    println!("{compared} cells are measured");
    assert!(compared >= 90, "{compared} cells");
}

/// Each combination has exactly one cell per release.
#[test]
fn the_releases_of_a_row_do_not_overlap() {
    let cells = cells();
    for (index, cell) in cells.iter().enumerate() {
        assert!(cell.first <= cell.last, "{cell:?}");
        for other in &cells[index + 1..] {
            let is_same = cell.key() == other.key();
            let overlaps = cell.first <= other.last && other.first <= cell.last;
            assert!(!(is_same && overlaps), "{cell:?}\n{other:?}");
        }
    }
    for mesh in [
        "istio-sidecar",
        "istio-ambient",
        "osm",
        "kuma",
        "consul",
        "linkerd",
        "app-mesh",
        "cilium",
        "none",
    ] {
        assert!(cells.iter().any(|cell: &Cell| cell.mesh == mesh), "{mesh}");
    }
}
