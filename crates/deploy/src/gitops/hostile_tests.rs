//! Tests with broken and malicious trees.

use crate::gitops::render;
use crate::gitops::tests::{WEB, messages, only, set};
use crate::kustomize::Limit;

#[test]
fn cycles_are_reported() {
    let sources = set(&[
        ("a/kustomization.yaml", "resources: [../b, web.yaml]\n"),
        ("a/web.yaml", WEB),
        ("b/kustomization.yaml", "resources: [../a]\n"),
        ("self/kustomization.yaml", "resources: [., ../self]\n"),
    ]);
    let renderings = render(&sources);
    let roots: Vec<&str> = renderings
        .iter()
        .map(|rendering| &*rendering.id.root)
        .collect();
    assert_eq!(roots, ["a/kustomization.yaml", "self/kustomization.yaml"]);
    for rendering in &renderings {
        assert!(messages(rendering)[0].contains("cycle"), "{rendering:?}");
    }
    assert_eq!(renderings[0].documents.len(), 1);
}

#[test]
fn files_outside_of_the_set_are_not_read() {
    let text = "resources: ['../../../../etc/passwd', /etc/passwd, ../../.., '']\npatches: [{path: ../../../../etc/passwd}]\n";
    let sources = set(&[("a/kustomization.yaml", text)]);
    let rendering = only(&sources);
    assert_eq!(rendering.notes.len(), 5, "{:?}", rendering.notes);
    assert!(rendering.documents.is_empty() && rendering.used.is_empty());
}

#[test]
fn a_long_chain_of_overlays_exceeds_the_depth_limit() {
    let mut files = vec![("k0/web.yaml".to_owned(), WEB.to_owned())];
    files.push((
        "k0/kustomization.yaml".to_owned(),
        "resources: [web.yaml]\n".to_owned(),
    ));
    for level in 1..1000 {
        let text = format!("resources: [../k{}]\n", level - 1);
        files.push((format!("k{level}/kustomization.yaml"), text));
    }
    let borrowed: Vec<_> = files
        .iter()
        .map(|(a, b)| (a.as_str(), b.as_str()))
        .collect();
    let rendering = only(&set(&borrowed));
    assert_eq!(&*rendering.id.root, "k999/kustomization.yaml");
    assert_eq!(rendering.left_out, Some(Limit::Depth));
    assert!(rendering.documents.is_empty());
}

#[test]
fn overlays_that_double_with_every_level_are_left_out() {
    let mut files = vec![("k0/web.yaml".to_owned(), WEB.to_owned())];
    files.push((
        "k0/kustomization.yaml".to_owned(),
        "resources: [web.yaml]\n".to_owned(),
    ));
    let component = "kind: Component\n";
    files.push(("c0/kustomization.yaml".to_owned(), component.to_owned()));
    for level in 1..30 {
        let below = level - 1;
        for (name, prefix) in [("a", "x"), ("b", "y")] {
            let text = format!("namePrefix: {prefix}\nresources: [../k{below}]\n");
            files.push((format!("{name}{level}/kustomization.yaml"), text));
        }
        let text = format!("resources: [../a{level}, ../b{level}]\n");
        files.push((format!("k{level}/kustomization.yaml"), text));
        let text = format!("{component}components: [../c{below}, ../c{below}]\n");
        files.push((format!("c{level}/kustomization.yaml"), text));
    }
    files.push((
        "top/kustomization.yaml".to_owned(),
        "components: [../c29]\n".to_owned(),
    ));
    let borrowed: Vec<_> = files
        .iter()
        .map(|(a, b)| (a.as_str(), b.as_str()))
        .collect();
    let renderings = render(&set(&borrowed));
    assert_eq!(renderings.len(), 2);
    for rendering in &renderings {
        assert!(rendering.documents.is_empty());
        assert!(rendering.left_out.is_some());
    }
}

#[test]
fn copies_of_copies_exceed_the_value_limit() {
    let mut patch = String::new();
    for _ in 0..60 {
        patch.push_str("    - {op: copy, from: /spec/template/spec/containers, path: /spec/template/spec/containers/-}\n");
    }
    let text = format!(
        "resources: [web.yaml]\npatches:\n- target: {{kind: Deployment}}\n  patch: |\n{patch}"
    );
    let sources = set(&[("kustomization.yaml", text.as_str()), ("web.yaml", WEB)]);
    let rendering = only(&sources);
    assert_eq!(rendering.left_out, Some(Limit::Values));
}

#[test]
fn an_overlay_of_a_left_out_base_has_no_objects_in_any_order() {
    let bad = format!(
        "resources: [web.yaml]\npatches:\n- target: {{kind: Deployment}}\n  patch: |\n{}",
        "    - {op: copy, from: /spec/template/spec/containers, path: /spec/template/spec/containers/-}\n".repeat(60)
    );
    for resources in ["[../good, ../bad]", "[../bad, ../good]"] {
        let over = format!("resources: {resources}\n");
        let sources = set(&[
            ("good/api.yaml", &WEB.replace("name: web", "name: api")),
            ("good/kustomization.yaml", "resources: [api.yaml]\n"),
            ("bad/web.yaml", WEB),
            ("bad/kustomization.yaml", &bad),
            ("over/kustomization.yaml", &over),
        ]);
        let rendering = only(&sources);
        assert_eq!(rendering.left_out, Some(Limit::Values));
        assert!(rendering.documents.is_empty());
    }
}

#[test]
fn unreadable_patches_are_not_multiplied_with_objects() {
    let mut objects = String::new();
    for at in 0..800 {
        objects.push_str(&WEB.replace("name: web\nspec", &format!("name: web{at}\nspec")));
        objects.push_str("---\n");
    }
    let patches = "- {patch: \"{{\"}\n".repeat(800);
    let text = format!("resources: [web.yaml]\npatches:\n{patches}");
    let sources = set(&[("kustomization.yaml", &text), ("web.yaml", &objects)]);
    let rendering = only(&sources);
    assert_eq!(rendering.left_out, None);
    assert_eq!(rendering.documents.len(), 800);
    assert_eq!(rendering.notes.len(), 800);
    let changed = rendering.notes.iter().map(|note| note.changed.len());
    assert_eq!(changed.sum::<usize>(), 800);
}

#[test]
fn aliases_that_multiply_each_other_are_not_expanded() {
    let mut text = String::from("apiVersion: v1\nkind: Pod\nmetadata: {name: a}\na0: &a0 [x]\n");
    for level in 1..12 {
        let below = vec![format!("*a{}", level - 1); 9].join(", ");
        text.push_str(&format!("a{level}: &a{level} [{below}]\n"));
    }
    let sources = set(&[
        ("kustomization.yaml", "resources: [a.yaml]\n"),
        ("a.yaml", text.as_str()),
    ]);
    let rendering = only(&sources);
    assert!(rendering.documents.is_empty());
    assert_eq!(rendering.notes.len(), 1);
}

#[test]
fn an_unused_component_and_a_broken_kustomization_are_reported() {
    let sources = set(&[
        ("c/kustomization.yaml", "kind: Component\n"),
        ("x/kustomization.yaml", "a: [\n"),
        ("y/kustomization.yaml", "resources: [../x]\n"),
    ]);
    let renderings = render(&sources);
    let messages: Vec<_> = renderings.iter().flat_map(messages).collect();
    assert_eq!(messages.len(), 2, "{messages:?}");
    assert!(messages[0].contains("no kustomization uses this component"));
    assert!(messages[1].contains("`x/kustomization.yaml` cannot be read"));
}
