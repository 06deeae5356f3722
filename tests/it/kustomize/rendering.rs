//! Compares renderings in process with builds of the real kustomize: `fixtures/kustomize/README.md`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::{fixture, kustomize};
use meshprobe::engine::load;
use meshprobe::gitops::render;
use meshprobe::kube::Object;
use meshprobe::kustomize::Rendering;
use meshprobe::source::{Input, Request, SourceSet};
use meshprobe::yaml::from_node;
use serde::Deserialize as _;
use serde_json::Value;

/// Objects by kind, namespace and name.
type Objects = BTreeMap<(String, String, String), Value>;

fn tree(name: &str) -> SourceSet {
    load(&Request {
        targets: vec![Input::Path(PathBuf::from("."))],
        working_directory: fixture("kustomize").join(name),
        ..Request::default()
    })
}

fn trees() -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(fixture("kustomize"))
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.path().is_dir())
        .map(|entry| entry.file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

fn key(object: &Value) -> (String, String, String) {
    let text = |pointer: &str| {
        let value = object.pointer(pointer).and_then(Value::as_str);
        value.unwrap_or_default().to_owned()
    };
    (
        text("/kind"),
        text("/metadata/namespace"),
        text("/metadata/name"),
    )
}

/// Returns the object without the fields that the renderer does not model.
fn compared(mut object: Value) -> Value {
    if let Some(spec) = object.pointer_mut("/spec").and_then(Value::as_object_mut) {
        spec.remove("replicas");
    }
    object
}

fn collect(objects: impl Iterator<Item = Value>) -> Objects {
    let mut all = Objects::new();
    for object in objects {
        let known = all.insert(key(&object), compared(object));
        assert!(known.is_none(), "two objects have the same key: {known:?}");
    }
    all
}

fn rendered_objects(rendering: &Rendering) -> Objects {
    let values = rendering.documents.iter().map(|rendered| {
        let objects = Object::all_in(&rendered.document);
        let [object] = objects.as_slice() else {
            panic!("{} objects in one document", objects.len());
        };
        from_node(object.node).unwrap()
    });
    collect(values.filter(|value| !is_generated(value)))
}

/// Returns whether a generator may make an object: its name has no hash here.
fn is_generated(value: &Value) -> bool {
    matches!(value["kind"].as_str(), Some("ConfigMap" | "Secret"))
}

fn built_objects(binary: &Path, folder: &Path) -> Objects {
    let run = Command::new(binary)
        .arg("build")
        .arg(folder)
        .output()
        .unwrap();
    let error = String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success(), "{}: {error}", folder.display());
    let text = String::from_utf8(run.stdout).unwrap();
    let documents = serde_yaml::Deserializer::from_str(&text);
    let values = documents.map(|document| {
        let value = serde_yaml::Value::deserialize(document).unwrap();
        serde_json::to_value(value).unwrap()
    });
    collect(values.filter(|value| !is_generated(value)))
}

#[test]
fn every_tree_renders_as_kustomize_builds_it() {
    let Some(binary) = kustomize() else { return };
    let mut count = 0;
    for name in trees() {
        let set = tree(&name);
        for rendering in render(&set) {
            let folder = Path::new(&*rendering.id.root).parent().unwrap();
            let expected = built_objects(&binary, &fixture("kustomize").join(&name).join(folder));
            let found = rendered_objects(&rendering);
            let names: Vec<_> = found.keys().collect();
            assert_eq!(
                names,
                expected.keys().collect::<Vec<_>>(),
                "{name}/{}",
                rendering.id.root
            );
            for (key, expected) in &expected {
                let found = serde_json::to_string_pretty(&found[key]).unwrap();
                let expected = &serde_json::to_string_pretty(expected).unwrap();
                let title = format!("{name}/{} {key:?}", rendering.id.root);
                assert!(found == *expected, "{title}\n{}", diff(expected, &found));
            }
            assert_eq!(rendering.notes, [], "{name}/{}", rendering.id.root);
            count += 1;
        }
    }
    assert!(count >= 19, "only {count} kustomizations");
}

fn diff(expected: &str, found: &str) -> String {
    similar::TextDiff::from_lines(expected, found)
        .unified_diff()
        .header("kustomize", "meshprobe")
        .to_string()
}

/// A base that an overlay includes is not rendered on its own.
#[test]
fn kustomizations_that_no_other_one_lists_are_the_roots() {
    let roots = |name: &str| -> Vec<String> {
        let renderings = render(&tree(name));
        renderings
            .iter()
            .map(|rendering| rendering.id.root.to_string())
            .collect()
    };
    assert_eq!(
        roots("two-overlays"),
        [
            "overlays/dev/kustomization.yaml",
            "overlays/prod/kustomization.yaml"
        ]
    );
    assert_eq!(roots("overlay-of-overlay"), ["cluster/kustomization.yaml"]);
    assert_eq!(roots("components"), ["overlay/kustomization.yaml"]);
    assert_eq!(roots("bases-and-streams"), ["overlay/Kustomization"]);
}

/// Flux and Argo CD add the fields of their object to the kustomization of the folder. The same fields, written by
/// hand, build the same objects.
#[test]
fn fields_of_flux_and_argo_cd_have_the_effect_of_the_same_fields_in_the_kustomization() {
    let Some(binary) = kustomize() else { return };
    let deployed = fixture("deployed");
    let mut count = 0;
    for entry in std::fs::read_dir(&deployed).unwrap() {
        let folder = entry.unwrap().path();
        if !folder.is_dir() {
            continue;
        }
        let set = load(&Request {
            targets: vec![Input::Path(PathBuf::from("."))],
            working_directory: folder.join("tree"),
            ..Request::default()
        });
        let renderings = render(&set);
        let [rendering] = renderings.as_slice() else {
            panic!("{}: {} renderings", folder.display(), renderings.len());
        };
        let target = &rendering.deployed.as_ref().unwrap().folder;
        let expected = built_objects(&binary, &folder.join("written").join(target));
        let text = |objects: &Objects| {
            serde_json::to_string_pretty(&objects.values().collect::<Vec<_>>()).unwrap()
        };
        let (expected, found) = (text(&expected), text(&rendered_objects(rendering)));
        assert!(
            found == expected,
            "{}\n{}",
            folder.display(),
            diff(&expected, &found)
        );
        assert_eq!(rendering.notes, [], "{}", folder.display());
        count += 1;
    }
    assert!(count >= 3, "only {count} deployed folders");
}
