//! Virtual machines: the files that istioctl and meshprobe write for a WorkloadGroup.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::support::{Run, findings, meshprobe};
use serde_json::Value;

struct Case {
    name: String,
    folder: PathBuf,
    expected: Value,
}

impl Case {
    fn all() -> Vec<Self> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/istio/vm");
        let folders = fs::read_dir(root)
            .unwrap()
            .map(|entry| entry.unwrap().path());
        let mut all: Vec<Self> = folders
            .filter(|folder| folder.is_dir())
            .map(|folder| {
                let text = fs::read_to_string(folder.join("expected.json")).unwrap();
                Self {
                    name: folder.file_name().unwrap().to_string_lossy().into_owned(),
                    expected: serde_json::from_str(&text).unwrap(),
                    folder,
                }
            })
            .collect();
        all.sort_by(|a, b| a.name.cmp(&b.name));
        all
    }

    fn is_valid(&self) -> bool {
        self.expected["validate"]["rc"] == 0
    }

    /// The file that `istioctl x workload entry configure` wrote, if any.
    fn mesh(&self) -> Option<&Value> {
        self.expected.get("mesh")
    }

    fn rewrite(&self, more: &[&str]) -> Run {
        let given = [
            "rewrite",
            "--isolated",
            "--vm",
            "--context",
            "../mesh-config.yaml",
        ];
        let arguments: Vec<&str> = given.iter().chain(more).copied().collect();
        meshprobe(
            &self.folder,
            &[&arguments[..], &["input.yaml"]].concat(),
            "",
        )
    }

    /// Returns severity and rule of each finding of `check`.
    fn check(&self) -> Vec<String> {
        let arguments = [
            "check",
            "--isolated",
            "--output-format",
            "json",
            "input.yaml",
        ];
        let found = findings(&meshprobe(&self.folder, &arguments, ""));
        let text = |finding: &Value, key: &str| finding[key].as_str().unwrap().to_owned();
        found
            .iter()
            .map(|finding| format!("{} {}", text(finding, "severity"), text(finding, "rule")))
            .collect()
    }
}

fn yaml(text: &str) -> Value {
    serde_yaml::from_str(text).unwrap()
}

/// `--allow vm-probe-refused` corresponds to istioctl, which validates nothing: 17 files are equal.
#[test]
fn mesh_yaml_is_equal_to_the_file_of_istioctl() {
    let mut equal = 0;
    let mut stopped = Vec::new();
    for case in Case::all() {
        let run = case.rewrite(&["--allow", "vm-probe-refused"]);
        match case.mesh() {
            Some(mesh) => {
                assert_eq!(&yaml(&run.stdout), mesh, "{}", case.name);
                assert_eq!(run.code, 0, "{}: {}", case.name, run.stderr);
                equal += 1;
            }
            None => {
                assert_eq!(run.stdout, "", "{}", case.name);
                assert!(run.stderr.contains("vm-probe-unreadable"), "{}", run.stderr);
                assert_eq!(run.code, 1, "{}", case.name);
                stopped.push(case.name);
            }
        }
    }
    assert_eq!(equal, 17);
    assert_eq!(stopped, ["port-name", "yaml11-bool-header"]);
}

/// By default, `rewrite` writes only files that istiod and the API server accept.
#[test]
fn groups_that_istiod_rejects_are_not_written() {
    let mut written = 0;
    let mut refused = Vec::new();
    for case in Case::all() {
        let run = case.rewrite(&[]);
        if run.code == 0 {
            assert!(case.is_valid(), "{}", case.name);
            assert_eq!(&yaml(&run.stdout), case.mesh().unwrap(), "{}", case.name);
            written += 1;
        } else {
            assert_eq!(run.stdout, "", "{}", case.name);
            assert_eq!(run.code, 1, "{}", case.name);
            refused.push((case.is_valid(), case.name));
        }
    }
    assert_eq!(written, 8);
    assert_eq!(refused.len(), 11);
    // istioctl validates only the method that remains after parsing; the schema of the definition accepts only one.
    let valid: Vec<&str> = refused
        .iter()
        .filter(|(is_valid, _)| *is_valid)
        .map(|(_, name)| name.as_str())
        .collect();
    assert_eq!(valid, ["two-handlers"]);
}

/// Without the mesh configuration, only the probe is known.
#[test]
fn the_probe_is_equal_to_the_probe_of_istioctl() {
    for case in Case::all() {
        let Some(expected) = case.expected.get("readinessProbe") else {
            continue;
        };
        let arguments = [
            "rewrite",
            "--isolated",
            "--vm",
            "--allow",
            "vm-probe-refused",
            "-",
        ];
        let input = fs::read_to_string(case.folder.join("input.yaml")).unwrap();
        let run = meshprobe(&case.folder, &arguments, &input);
        let written = yaml(&run.stdout);
        let probe = &written["defaultConfig"]["readinessProbe"];
        assert_eq!(probe, expected, "{}", case.name);
        let others = written["defaultConfig"].as_object().unwrap().len();
        assert_eq!(others, usize::from(!expected.is_null()), "{}", case.name);
        assert!(
            run.stderr.contains("vm-mesh-config-missing"),
            "{}",
            run.stderr
        );
    }
}

/// Every input that `istioctl validate` rejects is an error, with at least one error per complaint.
#[test]
fn faults_that_istioctl_validate_rejects_are_found() {
    let mut table = String::new();
    let mut refused = 0;
    for case in Case::all() {
        let found = case.check();
        let errors = found
            .iter()
            .filter(|finding| finding.starts_with("error "))
            .count();
        if !case.is_valid() {
            let lines = case.expected["validate"]["stderr"].as_array().unwrap();
            let complaints = lines
                .iter()
                .filter(|line| line.as_str().unwrap().starts_with("\t*"))
                .count();
            assert!(errors >= complaints, "{}: {found:?}", case.name);
            assert!(complaints > 0, "{}", case.name);
            refused += 1;
        }
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for finding in &found {
            *counts.entry(finding).or_default() += 1;
        }
        let verdict = if case.is_valid() { "valid" } else { "refused" };
        table.push_str(&format!("{} ({verdict})\n", case.name));
        for (finding, count) in counts {
            table.push_str(&format!("  {count} × {finding}\n"));
        }
    }
    let all = Case::all();
    let written = all.iter().filter(|case| case.mesh().is_some()).count();
    println!(
        "vm: {} cases, {written} with mesh.yaml, {refused} refused by validate",
        all.len()
    );
    assert_eq!(refused, 10);
    insta::assert_snapshot!("vm_checked", table);
}

fn group_with_template(template: &str) -> String {
    format!(
        "apiVersion: networking.istio.io/v1\nkind: WorkloadGroup\nmetadata: {{name: web, namespace: shop}}\n\
         spec: {{template: {{{template}}}, probe: {{httpGet: {{port: 8080}}}}}}\n"
    )
}

/// `readWorkloadGroup` of istioctl fills it in since Istio 1.22.
#[test]
fn a_group_without_a_service_account_uses_the_default_one() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/istio/vm");
    for account in ["", "serviceAccount: \"\"", "serviceAccount: null"] {
        let input = group_with_template(&format!("network: n1, {account}"));
        let arguments = [
            "rewrite",
            "--isolated",
            "--vm",
            "--context",
            "mesh-config.yaml",
            "--allow",
            "vm-probe-refused",
            "-",
        ];
        let run = meshprobe(&folder, &arguments, &input);
        let metadata = &yaml(&run.stdout)["defaultConfig"]["proxyMetadata"];
        assert_eq!(
            metadata["SERVICE_ACCOUNT"], "default",
            "{account:?} {}",
            run.stderr
        );
    }
}

/// istioctl reads without a schema, but with types. It reads some ports that the API server rejects.
#[test]
fn a_template_that_cannot_be_read_is_refused() {
    for (template, is_read) in [
        ("ports: {http: \"8080\"}", false),
        ("ports: {http: 70000}", false),
        ("ports: {http: web}", false),
        ("ports: [8080]", false),
        ("serviceAccount: 1", false),
        ("labels: {app: true}", false),
        ("labels: {app: \"*\"}", true),
    ] {
        let input = group_with_template(template);
        let arguments = [
            "rewrite",
            "--isolated",
            "--vm",
            "--allow",
            "vm-probe-refused",
            "-",
        ];
        let run = meshprobe(Path::new(env!("CARGO_MANIFEST_DIR")), &arguments, &input);
        assert_eq!(
            !run.stdout.is_empty(),
            is_read,
            "{template}: {}",
            run.stderr
        );
        assert_eq!(
            run.stderr.contains("vm-probe-unreadable"),
            !is_read,
            "{template}: {}",
            run.stderr
        );
    }
}
