//! `docs/rules` is generated from the doc comments of the rules; drift fails.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test stops at the first surprise"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// With `MESHPROBE_UPDATE_DOCS=1` the pages are written anew.
#[test]
fn the_pages_say_what_the_doc_comments_say() {
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
    let how = "run `MESHPROBE_UPDATE_DOCS=1 cargo test --test rule_docs`";
    let names: BTreeSet<String> = wanted.keys().cloned().collect();
    assert_eq!(present(), names, "docs/rules holds other pages: {how}");
    for (name, text) in &wanted {
        let page = fs::read_to_string(root.join(name)).unwrap();
        assert!(page == *text, "docs/rules/{name} is out of date: {how}");
    }
}
