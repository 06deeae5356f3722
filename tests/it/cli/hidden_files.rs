//! A gate reports manifests that ignore files hide from it, and every summary counts the files left out.

use crate::support::manifest::{INJECTED, STRICT, join};
use crate::support::project::Project;
use crate::support::{PROGRAM, command, run};

const WEB: &str = "\
apiVersion: v1
kind: Pod
metadata:
  name: web
  namespace: shop
  annotations: {sidecar.istio.io/rewriteAppHTTPProbers: \"false\"}
spec:
  containers:
  - name: web
    livenessProbe: {httpGet: {path: /, port: 8080}}
";

/// A repository whose only finding is in `apps/web.yaml`, all of it tracked.
fn project() -> Project {
    let project = Project::with(&[
        ("mesh.yaml", &join(&[INJECTED, STRICT])),
        ("apps/web.yaml", WEB),
        ("apps/values.yaml", "a: 1\n"),
    ]);
    project.git("", &["init", "--quiet"]);
    project.git("", &["add", "--all"]);
    project
}

#[test]
fn a_tracked_manifest_cannot_be_hidden_from_a_gate() {
    let project = project();
    project.run(&["check", "--fail-on", "warning"]).exits(1);
    for (file, line) in [
        (".ignore", "apps/"),
        (".gitignore", "web.yaml"),
        ("apps/.ignore", "*.yaml"),
        (".git/info/exclude", "/apps/web.yaml"),
    ] {
        project.write(file, format!("# not much\n{line}\n"));
        // This run is not a gate: it does not look for hidden files.
        project.run(&["check"]).exits(0);
        let gate = project.run(&["check", "--fail-on", "warning"]).exits(1);
        let gate = gate
            .stdout_contains("error[tracked-file-hidden]: this hides a manifest that git tracks");
        let gate = gate.stdout_contains("which was not checked: `apps/web.yaml`");
        let gate = gate.stdout_contains(&format!("{file}:2:1"));
        gate.stdout_contains("Not checked because of an ignore file: 1 tracked manifest.");
        project
            .run(&["check", "--fail-on", "warning", "--no-ignore"])
            .exits(1)
            .stdout_contains("strict-probe-not-rewritten");
        // Files that the gate itself excludes are visible in its command line.
        project
            .run(&["check", "--fail-on", "warning", "--exclude", "apps/"])
            .exits(0);
        std::fs::remove_file(project.path(file)).unwrap();
    }
}

#[test]
fn a_hidden_manifest_is_found_in_every_notation_of_its_keys() {
    let project = project();
    project.write(".gitignore", "web.yaml\n");
    let text = std::fs::read_to_string(project.path("apps/web.yaml")).unwrap();
    let indented: String = text.lines().map(|line| format!(" {line}\n")).collect();
    let quoted = text
        .replace("apiVersion:", "\"apiVersion\":")
        .replace("kind:", "'kind':");
    for text in [indented, quoted] {
        project.write("apps/web.yaml", text);
        project
            .run(&["check", "--fail-on", "warning"])
            .exits(1)
            .stdout_contains("tracked-file-hidden");
    }
}

#[test]
fn a_hidden_template_is_found() {
    let project = project();
    project.write(".gitignore", "web.yaml\n");
    let text = std::fs::read_to_string(project.path("apps/web.yaml")).unwrap();
    for first in [
        "{{ if .Values.web }}",
        "{{- if .Values.web }}",
        "\n  {{- range .Values.all -}}",
        "{{/* web */}}",
        "# web\n{{ if .Values.web }}",
    ] {
        project.write("apps/web.yaml", format!("{first}\n{text}{{{{ end }}}}\n"));
        let run = project.run(&["check", "--fail-on", "warning"]).exits(1);
        run.stdout_contains("tracked-file-hidden")
            .stdout_contains("`apps/web.yaml`");
    }
    project.write("apps/web.yaml", "{{ if .Values.web }}\na: b\n{{ end }}\n");
    project.run(&["check", "--fail-on", "warning"]).exits(0);
}

#[cfg(unix)]
#[test]
fn a_hidden_link_to_a_checked_manifest_is_not_reported() {
    let project = Project::with(&[("mesh.yaml", INJECTED), ("web.yaml", WEB)]);
    project.write("apps/readme.txt", "");
    std::os::unix::fs::symlink("../web.yaml", project.path("apps/web.yaml")).unwrap();
    project.git("", &["init", "--quiet"]);
    project.git("", &["add", "--all"]);
    project.write(".ignore", "apps/\n");
    project.run(&["check", "--fail-on", "error"]).exits(0);
    // The link is the only way to the manifest.
    project.write(".ignore", "apps/\n/web.yaml\n");
    let run = project.run(&["check", "--fail-on", "error"]).exits(1);
    run.stdout_contains("`apps/web.yaml`");
}

/// An OpenAPI document that describes `properties`, as JSON of at least `size` bytes.
fn schema(properties: &str, size: usize) -> String {
    let definition = format!("{{\"properties\": {{{properties}}}}}");
    let count = size / definition.len() + 1;
    let definitions: Vec<String> = (0..count)
        .map(|number| format!("\"D{number}\": {definition}"))
        .collect();
    let definitions = definitions.join(",\n");
    format!("{{\"swagger\": \"2.0\", \"definitions\": {{{definitions}}}}}\n")
}

#[test]
fn hidden_schemas_of_any_size_are_not_reported_and_manifests_are() {
    let object = "\"apiVersion\": {\"type\": \"string\"}, \"kind\": {\"type\": \"string\"}";
    let project = project();
    project.write(".ignore", "apps/\n");
    for size in [100, 2 << 20] {
        let schema = schema(object, size);
        std::fs::remove_file(project.path("apps/web.yaml")).ok();
        project.write("apps/swagger.json", &schema);
        project.git("", &["add", "--all", "--force"]);
        project.run(&["check", "--fail-on", "error"]).exits(0);
        let manifest = schema.replacen('{', "{\"apiVersion\": \"v1\", \"kind\": \"Pod\", ", 1);
        for (path, text) in [
            ("apps/swagger.json", manifest),
            ("apps/web.yaml", format!("{WEB}# {}\n", "x".repeat(size))),
        ] {
            project.write(path, text);
            project.git("", &["add", "--all", "--force"]);
            let run = project.run(&["check", "--fail-on", "error"]).exits(1);
            run.stdout_contains(&format!("`{path}`"));
        }
    }
}

#[test]
fn a_hidden_template_of_a_chart_is_a_note() {
    let project = Project::with(&[
        ("mesh.yaml", INJECTED),
        (
            "charts/x/Chart.yaml",
            "apiVersion: v2\nname: x\nversion: 1.0.0\n",
        ),
        (
            "charts/x/templates/s.yaml",
            "apiVersion: v1\nkind: Service\nmetadata:\n  name: {{ .Release.Name }}\n",
        ),
    ]);
    project.git("", &["init", "--quiet"]);
    project.git("", &["add", "--all"]);
    project.write(".ignore", "charts/\n");
    let run = project.run(&["check", "--fail-on", "error"]).exits(0);
    let run = run.stdout_contains(
        "note[tracked-file-hidden]: this hides a template of a Helm chart that git tracks",
    );
    run.stdout_contains("`charts/x/templates/s.yaml`");
    // A manifest next to it is an error.
    project.write("charts/x/templates/web.yaml", WEB);
    project.git("", &["add", "--all", "--force"]);
    let run = project.run(&["check", "--fail-on", "error"]).exits(1);
    run.stdout_contains("error[tracked-file-hidden]: this hides a manifest that git tracks")
        .stdout_contains("note[tracked-file-hidden]");
}

#[test]
fn a_hidden_manifest_fails_a_gate_that_allows_warnings() {
    let project = project();
    project.write(".gitignore", "web.yaml\n");
    project
        .run(&["check", "--fail-on", "error"])
        .exits(1)
        .stdout_contains("error[tracked-file-hidden]");
}

#[test]
fn a_hidden_link_kustomization_and_encoding_is_found() {
    let utf16: Vec<u8> = [0xff, 0xfe]
        .into_iter()
        .chain(WEB.bytes().flat_map(|byte| [byte, 0]))
        .collect();
    let hide = |prepare: &dyn Fn(&Project)| {
        let project = project();
        std::fs::remove_file(project.path("apps/web.yaml")).unwrap();
        prepare(&project);
        project.git("", &["add", "--all"]);
        project.write(".gitignore", "apps/\n");
        project
            .run(&["check", "--fail-on", "error"])
            .exits(1)
            .stdout_contains("error[tracked-file-hidden]");
    };
    hide(&|project| project.write("apps/web.yaml", &utf16));
    hide(&|project| {
        project.write("web.txt", WEB);
        std::os::unix::fs::symlink("../web.txt", project.path("apps/web.yaml")).unwrap();
    });
    hide(&|project| {
        project.write("apps/web", WEB);
        project.write("apps/kustomization.yaml", "resources: [web]\n");
    });
}

/// Opening a pipe in place of a tracked manifest would block the run.
#[cfg(unix)]
#[test]
fn a_hidden_pipe_is_not_opened() {
    let project = project();
    project.write(".gitignore", "web.yaml\n");
    std::fs::remove_file(project.path("apps/web.yaml")).unwrap();
    project.pipe_file("apps/web.yaml");
    project.run(&["check", "--fail-on", "warning"]).exits(0);
}

/// Git tracks files in the folders of other version control systems.
#[test]
fn a_manifest_in_a_folder_of_another_version_control_system_is_checked() {
    for folder in [".hg", ".jj", ".svn"] {
        let project = project();
        let moved = project.path(folder);
        std::fs::rename(project.path("apps"), moved).unwrap();
        project
            .run(&["check", "--fail-on", "warning"])
            .exits(1)
            .stdout_contains("strict-probe-not-rewritten");
    }
}

#[test]
fn a_run_in_ci_and_a_run_with_a_configured_fail_level_are_gates() {
    let project = project();
    project.write(".ignore", "apps/\n");
    let mut program = command(PROGRAM.as_ref(), &project.path(""));
    run(program.arg("check").env("CI", "true"), b"")
        .exits(1)
        .stdout_contains("tracked-file-hidden");
    project.write(
        ".meshprobe.yaml",
        "apiVersion: meshprobe.dev/v1alpha1\nkind: MeshProbe\nspec: {failOn: error}\n",
    );
    project
        .run(&["check"])
        .exits(1)
        .stdout_contains("tracked-file-hidden");
}

#[test]
fn hidden_facts_are_reported_for_context_too() {
    let project = project();
    project.write(".ignore", "mesh.yaml\n");
    let gate = [
        "check",
        "--fail-on",
        "warning",
        "--context",
        ".",
        "apps/web.yaml",
    ];
    project.run(&gate).exits(1).stdout_contains("`mesh.yaml`");
}

#[test]
fn hidden_facts_are_reported_by_the_function() {
    let project = project();
    project.write(".ignore", "mesh.yaml\n");
    let list = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: []\nfunctionConfig:\n  \
                apiVersion: meshprobe.dev/v1alpha1\n  kind: MeshProbe\n  spec:\n    context: [.]\n";
    let run = project.run_in("", &["krm"], list).exits(1);
    run.stderr_contains("tracked-file-hidden")
        .stderr_contains("`mesh.yaml`");
}

#[test]
fn a_folder_named_like_a_temporary_file_is_not_hidden() {
    let project = project();
    let folder = project.path(".meshprobe-x.tmp");
    std::fs::rename(project.path("apps"), folder).unwrap();
    project.run(&["check"]).exits(1);
}

#[test]
fn untracked_files_may_be_hidden() {
    let project = project();
    project.write("build/out.yaml", WEB);
    project.write(".gitignore", "build/\nvalues.yaml\n");
    let gate = project.run(&["check", "--fail-on", "error"]).exits(1);
    assert!(
        !gate.stdout.contains("tracked-file-hidden"),
        "{}",
        gate.stdout
    );
}

#[test]
fn every_version_of_the_index_is_read_and_a_split_one_is_reported() {
    for version in ["2", "3", "4"] {
        let project = project();
        project.write("intent.yaml", WEB);
        project.git("", &["update-index", "--index-version", version]);
        // Version 3 of the index exists for entries with an intention to add.
        project.git("", &["add", "--intent-to-add", "intent.yaml"]);
        project.write(".ignore", "intent.yaml\napps\n");
        let gate = project.run(&["check", "--fail-on", "warning"]).exits(1);
        gate.stdout_contains("`intent.yaml`")
            .stdout_contains("`apps/web.yaml`");
    }
    let project = project();
    project.git("", &["update-index", "--split-index"]);
    project.write("more.yaml", INJECTED);
    project.git("", &["add", "more.yaml"]);
    project.write(".ignore", "apps\n");
    let gate = project.run(&["check", "--fail-on", "error"]).exits(0);
    let gate = gate.stdout_contains(
        "note[tracked-file-hidden]: cannot determine whether this hides manifests",
    );
    gate.stdout_contains("git's index is split")
        .stdout_contains("(`core.splitIndex`)");
    project.write(".git/index", "DIRC\0\0\0\u{2}\0\0\0\u{9}");
    let gate = project.run(&["check", "--fail-on", "error"]).exits(0);
    gate.stdout_contains("git's index is damaged");
}

#[test]
fn object_names_of_sha256_and_worktrees_are_read() {
    let project = Project::with(&[("mesh.yaml", INJECTED), ("apps/web.yaml", WEB)]);
    std::fs::remove_dir(project.path(".git")).unwrap();
    project.git("", &["init", "--quiet", "--object-format=sha256"]);
    project.git("", &["add", "--all"]);
    project.write(".ignore", "apps\n");
    let gate = ["check", "--fail-on", "warning"];
    project
        .run(&gate)
        .exits(1)
        .stdout_contains("`apps/web.yaml`");
    let author = ["-c", "user.name=a", "-c", "user.email=a@example.com"];
    project.git(
        "",
        &[&author[..], &["commit", "--quiet", "-m", "x"]].concat(),
    );
    project.git("", &["worktree", "add", "--quiet", "--detach", "tree"]);
    project.write("tree/.ignore", "apps\n");
    let run = project.run_in("tree", &gate, "");
    run.exits(1).stdout_contains("`apps/web.yaml`");
}

#[test]
fn every_summary_counts_the_files_left_out() {
    let project = project();
    project.write(
        ".meshprobe.yaml",
        "apiVersion: meshprobe.dev/v1alpha1\nkind: MeshProbe\nspec:\n  rules:\n    \
         strict-probe-not-rewritten: ignore\n",
    );
    project.write(".ignore", "hidden.yaml\n");
    project.write("hidden.yaml", INJECTED);
    project.git("", &["add", "--force", "hidden.yaml"]);
    let reports = ["json", "sarif", "junit", "summary"];
    let mut arguments = vec!["check".to_owned(), "--fail-on=error".to_owned()];
    arguments.extend(reports.map(|format| format!("--report={format}={format}.out")));
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let run = project.run(&arguments).exits(1);
    let run = run.stdout_contains("Not shown: 1 finding ignored by the settings.\n");
    run.stdout_contains("Not checked because of an ignore file: 1 tracked manifest.\n");
    let json = project.read("json.out");
    assert!(json.contains("\"ignored\": 1,"), "{json}");
    assert!(json.contains("\"tracked_hidden\": 1"), "{json}");
    let sarif = project.read("sarif.out");
    assert!(sarif.contains("\"ignored\": 1,"), "{sarif}");
    assert!(sarif.contains("\"trackedHidden\": 1"), "{sarif}");
    let sentences = "Not shown: 1 finding ignored by the settings. \
                     Not checked because of an ignore file: 1 tracked manifest.";
    let junit = project.read("junit.out");
    assert!(
        junit.contains(&format!("<skipped message=\"{sentences}\"/>")),
        "{junit}"
    );
    let summary = project.read("summary.out");
    assert!(summary.contains(sentences), "{summary}");
}

#[test]
fn a_changed_severity_is_counted() {
    let project = project();
    project.write(
        ".meshprobe.yaml",
        "apiVersion: meshprobe.dev/v1alpha1\nkind: MeshProbe\nspec:\n  rules: {strict-probe-not-rewritten: note}\n",
    );
    let run = project.run(&["check"]).exits(0);
    run.stdout_contains("Severity changed by the settings: 1 finding.\n");
    let run = project.run(&["check", "--output-format", "json"]).exits(0);
    run.stdout_contains("\"severity_changed\": 1,");
}
