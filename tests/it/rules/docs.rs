//! The index and the first lines of the pages in `docs/rules`, the schema and the definition of the function follow
//! from the code. The tests fail when they differ.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// `MESHPROBE_UPDATE_DOCS=1` updates the files.
#[test]
fn pages_agree_with_the_metadata() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/rules");
    let wanted: BTreeMap<String, String> = meshprobe::report::rule_docs().into_iter().collect();
    let present = || -> BTreeSet<String> {
        let entries = fs::read_dir(&root).into_iter().flatten();
        entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect()
    };
    if std::env::var_os("MESHPROBE_UPDATE_DOCS").is_some() {
        fs::create_dir_all(&root).unwrap();
        for (name, text) in &wanted {
            fs::write(root.join(name), text).unwrap();
        }
        for name in present().iter().filter(|name| !wanted.contains_key(*name)) {
            fs::remove_file(root.join(name)).unwrap();
        }
    }
    let how = "run `MESHPROBE_UPDATE_DOCS=1 cargo test --test it rules::docs`";
    let names: BTreeSet<String> = wanted.keys().cloned().collect();
    assert_eq!(present(), names, "docs/rules contains other pages: {how}");
    for (name, text) in &wanted {
        let page = fs::read_to_string(root.join(name)).unwrap();
        assert!(page == *text, "docs/rules/{name} is out of date: {how}");
    }
}

/// The schema of the configuration and the definition of the function are generated as well.
#[test]
fn the_schemas_are_those_of_the_program() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let schema = meshprobe::settings::schema(meshprobe::engine::rule_names());
    let schema = serde_json::to_string_pretty(&schema).unwrap() + "\n";
    let definition = meshprobe::krm::definition().unwrap();
    for (name, text) in [
        ("docs/schema/meshprobe.schema.json", schema),
        ("packaging/krm-function.yaml", definition),
    ] {
        let file = root.join(name);
        if std::env::var_os("MESHPROBE_UPDATE_DOCS").is_some() {
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(&file, &text).unwrap();
        }
        let published = fs::read_to_string(&file).unwrap_or_default();
        assert!(
            published == text,
            "{name} is out of date: run `MESHPROBE_UPDATE_DOCS=1 cargo test --test it rules::docs`"
        );
    }
}
