//! Two states of a tree that have the same facts, which are collected once.

use std::fs;
use std::path::PathBuf;

use meshprobe::diff::State;
use meshprobe::engine::RenderedOverlays;
use meshprobe::filesystem::FileSystem;
use meshprobe::settings::Settings;
use meshprobe::source::SourceSet;

use super::renderings::copy;
use super::repository::{TestRepository, load};
use crate::support::fixture;

/// Texts of workloads, kustomizations and policies, and what replaces them.
const EDITS: [(&str, &str); 12] = [
    ("image: ", "image: other/"),
    ("newTag: ", "newTag: v"),
    ("port: ", "port: 1"),
    ("httpGet", "tcpSocket"),
    ("readinessProbe", "livenessProbe"),
    ("path: /", "path: /x"),
    ("containers:", "hostNetwork: true\n      containers:"),
    ("replicas: ", "replicas: 1"),
    ("name: ", "name: x"),
    ("\"true\"", "\"false\""),
    ("STRICT", "PERMISSIVE"),
    ("namespace: ", "namespace: x"),
];

/// Returns an edited text; a comment is added at its end if the text does not contain what the edit replaces.
fn edited(text: &str, number: usize) -> String {
    let (old, new) = EDITS[number % EDITS.len()];
    match text.contains(old) {
        true => text.replacen(old, new, 1),
        false => format!("{text}\n# edit {number}\n"),
    }
}

/// Checks that two states are judged together as each of them is alone, and returns whether they can be.
fn is_judged_together(before: &SourceSet, after: &SourceSet) -> bool {
    let settings = Settings::default();
    let alone = |set| State::of(set, &RenderedOverlays::default(), &settings, "");
    let rendered = RenderedOverlays::default();
    let Some(both) = State::of_both((before, after), &rendered, &settings, "") else {
        return false;
    };
    let alone = [alone(before), alone(after)];
    assert_eq!(format!("{both:#?}"), format!("{alone:#?}"));
    true
}

/// Edits up to three files of a folder of fixtures at a time. Returns how many of the states before and after can be judged
/// together, and how many of them differ.
fn judged_together(folder: &str) -> usize {
    let repository = TestRepository::new();
    let files = copy(&repository, &fixture(folder), folder);
    let before = load(&repository.root, FileSystem::default());
    let mut count = 0;
    for number in 0..60 {
        let chosen = (0..=number % 3).map(|nth| &files[(number * 7 + nth * 5) % files.len()]);
        let chosen: Vec<PathBuf> = chosen.map(|path| repository.root.join(path)).collect();
        let texts: Vec<Vec<u8>> = chosen.iter().map(|path| fs::read(path).unwrap()).collect();
        for (nth, (path, text)) in chosen.iter().zip(&texts).enumerate() {
            if let Ok(text) = str::from_utf8(text) {
                fs::write(path, edited(text, number / 3 + nth)).unwrap();
            }
        }
        let after = before.with_changed_contents(&chosen, &FileSystem::default());
        if let Some(after) = after {
            count += usize::from(is_judged_together(&before, &after));
            count += usize::from(is_judged_together(&after, &before));
        }
        for (path, text) in chosen.iter().zip(texts) {
            fs::write(path, text).unwrap();
        }
    }
    count
}

#[test]
fn two_states_with_the_same_facts_are_judged_as_each_alone() {
    let mut count = 0;
    for folder in [
        "demo",
        "gitops",
        "platform",
        "deployed",
        "meshes",
        "kustomize",
    ] {
        count += judged_together(folder);
    }
    assert!(count >= 30, "{count}");
}

const DEPLOYMENT: &str = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  template:\n    spec:\n      containers:\n\
                          \x20       - name: web\n          image: web\n          readinessProbe: {httpGet: {port: 80}}\n";

const KUSTOMIZATION: &str = "namespace: shop\nresources: [../web.yaml, ../mesh.yaml]\nimages:\n- {name: web, newTag: '1'}\n";

/// Returns whether the states before and after a change of one file are judged together. The other file is an overlay.
fn with_change(path: &str, before: &str, after: &str) -> bool {
    let repository = TestRepository::new();
    repository.write("overlay/kustomization.yaml", KUSTOMIZATION);
    repository.write("web.yaml", DEPLOYMENT);
    repository.write(
        "mesh.yaml",
        "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n",
    );
    repository.write(path, before);
    let old = load(&repository.root, FileSystem::default());
    repository.write(path, after);
    let paths = [repository.root.join(path)];
    let new = old
        .with_changed_contents(&paths, &FileSystem::default())
        .unwrap();
    let is_together = is_judged_together(&old, &new);
    assert_eq!(is_judged_together(&new, &old), is_together);
    is_together
}

#[test]
fn a_change_of_a_fact_is_judged_apart() {
    let namespace = "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop, labels: {istio-injection: enabled}}\n";
    let commented = format!("{namespace}# a comment\n");
    assert!(with_change("mesh.yaml", namespace, &commented));
    assert!(with_change(
        "web.yaml",
        DEPLOYMENT,
        &DEPLOYMENT.replace("80", "8080")
    ));
    let tagged = KUSTOMIZATION.replace("'1'", "'1.25'");
    assert!(with_change(
        "overlay/kustomization.yaml",
        KUSTOMIZATION,
        &tagged
    ));
    let labelled = DEPLOYMENT.replace("{name: web}", "{name: web, labels: {a: b}}");
    let moved = format!("# a comment\n{namespace}");
    let unchanged = "resources: [../web.yaml]\nimages:\n- {name: other, newTag: '1'}\n".to_owned();
    let changed = unchanged.replace("other", "web");
    let unlabelled = namespace.replace("enabled", "disabled");
    for (path, before, after) in [
        ("mesh.yaml", namespace, unlabelled.as_str()),
        ("mesh.yaml", namespace, &moved),
        ("web.yaml", DEPLOYMENT, &labelled),
        // One of them renders the Deployment as it is written.
        ("overlay/kustomization.yaml", &unchanged, &changed),
    ] {
        assert!(!with_change(path, before, after), "{after}");
    }
}
