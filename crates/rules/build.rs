//! Finds the pages that the crate embeds: in `docs/` of the repository, or in the copy in the published crate, which
//! cannot contain files outside of its folder (see `.github/workflows/release.yml`).

fn main() {
    let crate_folder = std::env::var("CARGO_MANIFEST_DIR").unwrap_or_default();
    let copy = format!("{crate_folder}/docs");
    let docs = if std::path::Path::new(&copy).exists() {
        copy
    } else {
        format!("{crate_folder}/../../docs")
    };
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-env=MESHPROBE_DOCS={docs}");
}
