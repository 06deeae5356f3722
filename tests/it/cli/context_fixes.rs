//! A finding in a file that is only read as context names the file to add to the paths, if `--fix` then applies the fix.

use serde_json::Value;

use super::platform::platform;
use crate::support::findings;
use crate::support::manifest::{Manifest, STRICT, join};
use crate::support::project::Project;

/// A Deployment whose probe fails, with a safe fix.
const OPTED_OUT: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}, annotations: {sidecar.istio.io/rewriteAppHTTPProbers: 'false'}}
    spec:
      containers:
      - name: web
        image: nginx
        ports: [{name: http, containerPort: 8080}]
        readinessProbe: {httpGet: {path: /ready, port: http}}
";

/// Returns a Deployment whose probe names a port that does not exist, with an unsafe fix.
fn misnamed() -> String {
    OPTED_OUT
        .replace("'false'", "'true'")
        .replace("port: http}}", "port: htp}}")
}

/// Returns a tree in which Flux deploys a Deployment by a kustomization with these fields.
fn project(web: &str, kustomization: &str) -> Project {
    let flux = Manifest::new("kustomize.toolkit.fluxcd.io/v1", "Kustomization", "apps");
    let flux = flux
        .within("flux-system")
        .spec("{path: ./base}")
        .to_string();
    let namespace = Manifest::namespace("shop").injected().to_string();
    let kustomization = format!("resources: [web.yaml]\n{kustomization}\n");
    Project::with(&[
        ("base/web.yaml", web),
        ("base/kustomization.yaml", &kustomization),
        (
            "clusters/prod/apps.yaml",
            &join(&[&flux, &namespace, STRICT]),
        ),
    ])
}

fn check(project: &Project, paths: &[&str]) -> Vec<Value> {
    let arguments = ["check", "--fail-on=never", "--output-format=json"];
    findings(&project.run(&[&arguments[..], paths].concat()).exits(0))
}

/// Returns the file and the option that the help of a finding names.
fn printed(finding: &Value) -> Option<(String, String)> {
    let help = finding["help"].as_str()?;
    let (_, rest) = help.split_once("add `")?;
    let (file, rest) = rest.split_once("` to the paths to apply the fix with `")?;
    Some((file.to_owned(), rest.split('`').next()?.to_owned()))
}

#[test]
fn the_printed_path_and_option_apply_the_fix() {
    let cases = [
        (
            OPTED_OUT.to_owned(),
            "--fix",
            "rewriteAppHTTPProbers: 'true'",
        ),
        (misnamed(), "--fix --unsafe-fixes", "port: http}}\n"),
    ];
    for (web, option, fixed) in cases {
        let project = project(&web, "");
        let found = check(&project, &["clusters"]);
        assert_eq!(found.len(), 1, "{found:#?}");
        let reason = "`base/web.yaml` is only read as context";
        assert_eq!(found[0]["fix"]["reason"], reason, "{found:#?}");
        let (file, printed) = printed(&found[0]).unwrap();
        assert_eq!((&*file, &*printed), ("base/web.yaml", option));
        fix(&project, &printed, &file);
        let text = project.read("base/web.yaml");
        assert!(text.replace('"', "'").contains(fixed), "{text}");
    }
}

/// Applies the fixes of the clusters and of a file with the printed options.
fn fix(project: &Project, options: &str, file: &str) {
    let run = ["check", "--fail-on=never"].into_iter();
    let run = run.chain(options.split(' ')).chain(["clusters", file]);
    project.run(&run.collect::<Vec<_>>()).exits(0);
}

/// Adding the file to the paths would not apply the fix, because the kustomization changes the object.
#[test]
fn a_file_whose_fix_is_made_by_hand_is_not_recommended() {
    for web in [OPTED_OUT.to_owned(), misnamed()] {
        let project = project(&web, "namePrefix: prod-");
        let found = check(&project, &["clusters"]);
        assert_eq!(found.len(), 1, "{found:#?}");
        assert_eq!(found[0]["fix"]["applicability"], "display-only");
        let reason = found[0]["fix"]["reason"].as_str().unwrap();
        assert!(
            reason.starts_with("a kustomization changes the object"),
            "{reason}"
        );
        assert_eq!(printed(&found[0]), None, "{found:#?}");
        fix(&project, "--fix --unsafe-fixes", "base/web.yaml");
        assert_eq!(project.read("base/web.yaml"), web);
    }
}

/// Every file that a finding of the platform names is the one that its fix changes.
#[test]
fn the_printed_paths_of_the_platform_apply_the_fixes() {
    let all = check(&platform(), &["tenants"]);
    let all = [all, check(&platform(), &["clusters"])].concat();
    let mut named = all.iter().filter_map(printed).collect::<Vec<_>>();
    named.sort_unstable();
    named.dedup();
    assert!(!named.is_empty());
    for (file, option) in named {
        let project = platform();
        let before = project.read(&file);
        fix(&project, &option, &file);
        assert_ne!(project.read(&file), before, "{file} {option}");
    }
}
