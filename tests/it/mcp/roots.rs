//! What the server reads: files below the roots, and no others.
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::client::{Client, STRICT, WEB};

/// A folder with a granted folder `granted`, and a secret next to it.
struct Place(TempDir);

impl Place {
    fn new() -> Self {
        let folder = TempDir::new().unwrap();
        fs::create_dir_all(folder.path().join("granted/apps")).unwrap();
        fs::create_dir_all(folder.path().join("secret")).unwrap();
        fs::write(folder.path().join("granted/apps/web.yaml"), WEB).unwrap();
        fs::write(
            folder.path().join("secret/web.yaml"),
            WEB.replace("shop", "secret"),
        )
        .unwrap();
        Self(folder)
    }

    fn path(&self, path: &str) -> std::path::PathBuf {
        self.0.path().join(path)
    }

    fn client(&self) -> Client {
        Client::granting(&self.path("granted"))
    }
}

/// Returns the names of the workloads in the paths of a call.
fn workloads(client: &mut Client, arguments: Value) -> Vec<String> {
    let answer = client.ask("predict", arguments);
    let probes = answer["probes"].as_array().unwrap();
    let object = |probe: &Value| probe["object"].as_str().unwrap().to_owned();
    probes.iter().map(object).collect()
}

#[test]
fn paths_outside_are_refused() {
    let place = Place::new();
    let outside = place.path("secret/web.yaml").display().to_string();
    symlink(place.path("secret"), place.path("granted/folder")).unwrap();
    symlink(
        place.path("secret/web.yaml"),
        place.path("granted/apps/link.yaml"),
    )
    .unwrap();
    symlink("../secret", place.path("granted/relative")).unwrap();
    symlink("folder", place.path("granted/twice")).unwrap();
    symlink("/nonexistent/anywhere", place.path("granted/dangling")).unwrap();
    let mut client = place.client();
    let cases = [
        "..",
        "../secret/web.yaml",
        "apps/../../secret/web.yaml",
        "./apps/.././../secret",
        "folder/../../secret/web.yaml",
        outside.as_str(),
        "/etc/passwd",
        "/",
        "folder/web.yaml",
        "folder",
        "apps/link.yaml",
        "relative/web.yaml",
        "twice/web.yaml",
        "dangling",
        &format!("file://{outside}"),
        &format!("file:{outside}"),
        &format!("FILE://localhost{outside}"),
        &format!(
            "file://{}/%2e%2e/secret/web.yaml",
            place.path("granted").display()
        ),
        &place.path("GRANTED/apps/web.yaml").display().to_string(),
        &place.path("granted-too/web.yaml").display().to_string(),
    ];
    for path in cases {
        for tool in ["check", "predict", "propose_fix"] {
            let refusal = client.refusal(tool, json!({"paths": [path]}));
            assert!(
                refusal.contains("is outside of the roots"),
                "{path}: {refusal}"
            );
            assert!(!refusal.contains("Deployment"), "{path}: {refusal}");
        }
        let refusal = client.refusal("check", json!({"manifest": WEB, "context": [path]}));
        assert!(
            refusal.contains("is outside of the roots"),
            "{path}: {refusal}"
        );
    }
}

#[test]
fn uris_that_do_not_name_a_file_are_refused() {
    let place = Place::new();
    let mut client = place.client();
    let granted = place.path("granted").display().to_string();
    for (uri, reason) in [
        (
            "https://example.com/web.yaml".to_owned(),
            "not a `file:` URI",
        ),
        (
            format!("file://example.com{granted}/apps/web.yaml"),
            "another host",
        ),
        (
            format!("file://{granted}/apps%2Fweb.yaml"),
            "contains a slash",
        ),
        (format!("file://{granted}/apps/web.yaml%00"), "NUL"),
        (format!("file://{granted}/apps/web.yaml?x"), "no query"),
        (format!("file://{granted}/%ff"), "not UTF-8"),
        ("a\u{0}b".to_owned(), "NUL"),
        (String::new(), "empty"),
    ] {
        let refusal = client.refusal("check", json!({"paths": [uri]}));
        assert!(refusal.contains(reason), "{uri:?}: {refusal}");
    }
}

#[test]
fn paths_inside_can_be_spelled_in_several_ways() {
    let place = Place::new();
    symlink("apps", place.path("granted/current")).unwrap();
    fs::copy(
        place.path("granted/apps/web.yaml"),
        place.path("granted/apps/a b.yaml"),
    )
    .unwrap();
    let mut client = place.client();
    let granted = place.path("granted").display().to_string();
    for path in [
        "apps/web.yaml".to_owned(),
        "./apps/../apps/web.yaml".to_owned(),
        "current/web.yaml".to_owned(),
        format!("{granted}/apps/web.yaml"),
        format!("file://{granted}/apps/web.yaml"),
        format!("file://{granted}/apps/a%20b.yaml"),
    ] {
        let found = workloads(&mut client, json!({"paths": [path.clone()]}));
        assert_eq!(found, ["shop/Deployment/web"], "{path}");
    }
    let refusal = client.refusal("check", json!({"paths": ["apps/missing.yaml"]}));
    assert!(refusal.contains("no such file or directory"), "{refusal}");
}

#[test]
fn a_file_with_the_name_of_standard_input_or_of_an_option_is_a_file() {
    let place = Place::new();
    for name in ["-", "--config=x.yaml", "--fix"] {
        fs::create_dir(place.path("granted").join(name)).unwrap();
        fs::copy(
            place.path("granted/apps/web.yaml"),
            place.path("granted").join(name).join("web.yaml"),
        )
        .unwrap();
    }
    let mut client = place.client();
    for name in ["-", "--config=x.yaml", "--fix"] {
        assert_eq!(
            workloads(&mut client, json!({"paths": [name]})),
            ["shop/Deployment/web"],
            "{name}"
        );
    }
}

#[test]
fn links_in_the_tree_that_lead_outside_are_not_read() {
    let place = Place::new();
    symlink(
        place.path("secret/web.yaml"),
        place.path("granted/apps/link.yaml"),
    )
    .unwrap();
    symlink(place.path("secret"), place.path("granted/folder")).unwrap();
    fs::create_dir(place.path("granted/overlay")).unwrap();
    fs::write(
        place.path("granted/overlay/kustomization.yaml"),
        "resources: [../../secret/web.yaml, ../folder/web.yaml]\n",
    )
    .unwrap();
    let mut client = place.client();
    assert_eq!(workloads(&mut client, json!({})), ["shop/Deployment/web"]);
    let result = client.call("check", json!({}));
    assert!(
        !result.to_string().contains("secret/Deployment"),
        "{result}"
    );
}

#[test]
fn facts_and_settings_outside_are_not_read() {
    let place = Place::new();
    fs::create_dir(place.path(".git")).unwrap();
    fs::write(place.path("mtls.yaml"), STRICT).unwrap();
    fs::write(
        place.path(".meshprobe.yaml"),
        "apiVersion: meshprobe.dev/v1alpha1\nkind: MeshProbe\nspec:\n  assume: {mtls: STRICT}\n",
    )
    .unwrap();
    let mut client = place.client();
    let answer = client.ask("check", json!({}));
    assert_eq!(answer["findings"], json!([]), "{answer}");
    let mut whole = Client::granting(&place.path("."));
    let answer = whole.ask("check", json!({"paths": ["granted"]}));
    assert_eq!(answer["findings"][0]["rule"], "strict-probe-not-rewritten");
}

#[test]
fn a_configuration_that_leads_outside_is_refused() {
    let place = Place::new();
    fs::write(place.path("secret/settings.yaml"), "secret: content\n").unwrap();
    symlink(
        place.path("secret/settings.yaml"),
        place.path("granted/.meshprobe.yaml"),
    )
    .unwrap();
    let mut client = place.client();
    let refusal = client.refusal("check", json!({}));
    assert!(
        refusal.contains(".meshprobe.yaml") && !refusal.contains("content"),
        "{refusal}"
    );
}

#[test]
fn the_root_is_the_tree_of_the_facts() {
    let place = Place::new();
    fs::write(place.path("granted/mtls.yaml"), STRICT).unwrap();
    let mut client = place.client();
    let answer = client.ask("check", json!({"paths": ["apps/web.yaml"]}));
    assert_eq!(
        answer["findings"][0]["because"][1]["at"], "mtls.yaml:8",
        "{answer}"
    );
}

#[test]
fn changed_roots_are_followed() {
    let place = Place::new();
    let mut client = place.client();
    assert_eq!(workloads(&mut client, json!({})), ["shop/Deployment/web"]);
    client.roots = Some(vec![format!("file://{}", place.path("secret").display())]);
    // Until the client announces the change, the server need not ask again.
    client.notify("notifications/roots/list_changed", json!({}));
    assert_eq!(workloads(&mut client, json!({})), ["secret/Deployment/web"]);
    let old = place.path("granted/apps/web.yaml").display().to_string();
    let refusal = client.refusal("check", json!({"paths": [old]}));
    assert!(refusal.contains("outside of the roots"), "{refusal}");
    client.roots = Some(Vec::new());
    client.notify("notifications/roots/list_changed", json!({}));
    let refusal = client.refusal("check", json!({}));
    assert!(refusal.contains("the client grants no roots"), "{refusal}");
    // A pasted manifest needs no roots.
    client.ask("check", json!({"manifest": WEB}));
}

#[test]
fn a_path_is_found_below_one_of_several_roots() {
    let place = Place::new();
    fs::create_dir_all(place.path("second/apps")).unwrap();
    fs::write(
        place.path("second/apps/web.yaml"),
        WEB.replace("shop", "second"),
    )
    .unwrap();
    fs::write(place.path("second/only.yaml"), WEB.replace("shop", "only")).unwrap();
    let uris = ["granted", "second"].map(|name| format!("file://{}", place.path(name).display()));
    let mut client = Client::with_roots(Path::new("/"), &[], Some(uris.to_vec()));
    assert_eq!(
        workloads(&mut client, json!({"paths": ["only.yaml"]})),
        ["only/Deployment/web"]
    );
    let absolute = place.path("second/apps").display().to_string();
    assert_eq!(
        workloads(&mut client, json!({"paths": [absolute.clone()]})),
        ["second/Deployment/web"]
    );
    for (paths, part) in [
        (json!([]), "`paths` is required"),
        (json!(["apps/web.yaml"]), "below several roots"),
        (
            json!([
                "only.yaml",
                place.path("granted/apps").display().to_string()
            ]),
            "below several roots",
        ),
    ] {
        let refusal = client.refusal("check", json!({"paths": paths}));
        assert!(refusal.contains(part), "{refusal}");
    }
}

#[test]
fn roots_that_cannot_be_used_are_named() {
    let place = Place::new();
    for uri in [
        "https://example.com/",
        "file:///nonexistent/folder",
        "nonsense",
    ] {
        let mut client = Client::with_roots(Path::new("/"), &[], Some(vec![uri.to_owned()]));
        let refusal = client.refusal("check", json!({"paths": ["apps"]}));
        assert!(refusal.contains("no files may be read"), "{uri}: {refusal}");
        assert!(refusal.contains("root `"), "{uri}: {refusal}");
    }
    drop(place);
}

#[test]
fn a_client_without_roots_may_read_the_working_directory() {
    let place = Place::new();
    let mut client = Client::without_roots(&place.path("granted"), &[]);
    assert_eq!(workloads(&mut client, json!({})), ["shop/Deployment/web"]);
    let refusal = client.refusal("check", json!({"paths": ["../secret"]}));
    assert!(refusal.contains("outside of the roots"), "{refusal}");
}

#[test]
fn the_root_of_the_file_system_is_not_granted_by_default() {
    let mut client = Client::without_roots(Path::new("/"), &[]);
    let refusal = client.refusal("check", json!({"paths": ["/etc"]}));
    assert!(refusal.contains("may contain private files"), "{refusal}");
    assert!(refusal.contains("--root DIR"), "{refusal}");
}

#[test]
fn the_command_line_can_grant_roots() {
    let place = Place::new();
    let granted = place.path("granted").display().to_string();
    let mut client = Client::without_roots(Path::new("/"), &["--root", &granted]);
    assert_eq!(workloads(&mut client, json!({})), ["shop/Deployment/web"]);
    let missing = Client::start(Path::new("/"), &["--root", "/nonexistent/folder"]);
    let (code, stderr) = missing.end();
    assert_eq!(code, Some(2));
    assert!(
        stderr.contains("cannot read the root `/nonexistent/folder`"),
        "{stderr}"
    );
}
