//! Two revisions of a git repository, or a revision and the working tree.

use std::fs;
use std::os::unix::fs::symlink;

use super::{cause, changes, report};
use crate::support::Run;
use crate::support::manifest::{INJECTED, NOT_REWRITTEN, STRICT};
use crate::support::project::Project;

const JSON: [&str; 3] = ["diff", "--output-format", "json"];

/// A repository with a commit on the branch `main`, which the remote `origin` has too.
pub(super) fn repository() -> Project {
    let project = Project::with(&[("apps/ns.yaml", INJECTED), ("apps/web.yaml", NOT_REWRITTEN)]);
    std::fs::remove_dir(project.path(".git")).unwrap();
    project.git("", &["init", "--quiet", "--initial-branch", "main"]);
    project.git("", &["config", "user.name", "n"]);
    project.git("", &["config", "user.email", "n@example.org"]);
    commit(&project, "base");
    project.git("", &["update-ref", "refs/remotes/origin/main", "HEAD"]);
    project.git(
        "",
        &["remote", "add", "origin", "https://example.org/r.git"],
    );
    project
}

pub(super) fn commit(project: &Project, message: &str) {
    project.git("", &["add", "--all"]);
    project.git("", &["commit", "--quiet", "--message", message]);
}

#[track_caller]
pub(super) fn run(project: &Project, options: &[&str], code: i32) -> Run {
    project.run(&[&JSON[..], options].concat()).exits(code)
}

const BROKEN: [&str; 1] = ["regression web readinessProbe: ok -> fails"];

/// No manifest differs, but a file that the templates of a chart include.
#[test]
fn helpers_of_a_chart_are_compared() {
    let project = repository();
    project.write(
        "chart/Chart.yaml",
        "{apiVersion: v2, name: web, version: 0.1.0}\n",
    );
    project.write(
        "chart/templates/web.yaml",
        "kind: {{ include \"kind\" . }}\n",
    );
    project.write("chart/templates/_helpers.tpl", "one");
    commit(&project, "chart");
    project.git("", &["update-ref", "refs/remotes/origin/main", "HEAD"]);
    run(&project, &[], 2).stderr_contains("nothing is compared");
    project.write("chart/templates/_helpers.tpl", "two");
    let listed = |run: &Run| {
        let report = report(run);
        let parts = report.pointer("/changed_not_judged").unwrap().as_array();
        let parts = parts.unwrap().iter();
        let paths = parts.map(|part| part.get("path").unwrap().as_str().unwrap().to_owned());
        paths.collect::<Vec<String>>()
    };
    assert_eq!(listed(&run(&project, &[], 0)), ["chart/Chart.yaml"]);
    run(&project, &["--fail-on", "not-judged"], 1);
    commit(&project, "helpers");
    assert_eq!(
        listed(&run(&project, &["--since", "HEAD~1", "--until", "HEAD"], 0)),
        ["chart/Chart.yaml"]
    );
}

/// Only a hidden part below the folder of a chart hides a file from it.
#[test]
fn helpers_of_charts_in_other_and_hidden_folders_are_compared() {
    let project = repository();
    project.write("deploy/web.yaml", NOT_REWRITTEN.replace("web", "deployed"));
    let release = "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: api, namespace: shop}\nspec:\n  chart: {spec: {chart: PATH, sourceRef: {kind: GitRepository, name: flux-system}}}\n";
    for chart in ["chart", ".k8s/chart"] {
        project.write("deploy/api.yaml", release.replace("PATH", chart));
        project.write(
            &format!("{chart}/Chart.yaml"),
            "{apiVersion: v2, name: web, version: 0.1.0}\n",
        );
        let template = "kind: {{ include \"kind\" . }}\n";
        project.write(&format!("{chart}/templates/web.yaml"), template);
        for (name, is_read) in [
            ("templates/_helpers.tpl", true),
            (".helmignore", true),
            ("templates/.draft", false),
        ] {
            let path = format!("{chart}/{name}");
            project.write(&path, "one");
            commit(&project, "chart");
            project.write(&path, "two");
            commit(&project, "change");
            let options = ["--since", "HEAD~1", "--until", "HEAD", "--fail-on"];
            let arguments = [&JSON[..], &options, &["not-judged"]].concat();
            for folder in ["", "deploy"] {
                let run = project.run_in(folder, &arguments, "");
                run.exits(i32::from(is_read));
            }
        }
    }
}

#[test]
fn the_working_tree_is_compared_with_the_default_branch() {
    let project = repository();
    run(&project, &[], 2).stderr_contains("nothing is compared");
    project.write("infra/mtls.yaml", STRICT);
    let changed = run(&project, &[], 1);
    assert_eq!(changes(&changed), BROKEN);
    assert_eq!(
        cause(&changed, 0),
        "infra/mtls.yaml:4 STRICT for namespace `shop`"
    );
    let names = report(&changed);
    let name = |pointer| names.pointer(pointer).unwrap().as_str().unwrap();
    assert!(name("/before/name").starts_with("`HEAD` ("));
    assert_eq!(name("/after/name"), "the working tree");
    commit(&project, "strict");
    assert_eq!(changes(&run(&project, &[], 1)), BROKEN);
}

#[test]
fn two_revisions() {
    let project = repository();
    project.git("", &["tag", "v1"]);
    project.write("infra/mtls.yaml", STRICT);
    commit(&project, "strict");
    project.git("", &["tag", "--annotate", "--message", "m", "v2"]);
    project.write("infra/mtls.yaml", "");
    assert_eq!(
        changes(&run(&project, &["--since", "v1", "--until", "v2"], 1)),
        BROKEN
    );
    let back = run(&project, &["--since", "v2", "--until", "v1"], 0);
    assert_eq!(
        changes(&back),
        ["improvement web readinessProbe: fails -> ok"]
    );
    assert_eq!(
        cause(&back, 0),
        "-infra/mtls.yaml:4 STRICT for namespace `shop`"
    );
    assert_eq!(changes(&run(&project, &["--since", "HEAD~1"], 0)), [""; 0]);
    let named = project
        .run(&["diff", "--since", "v1", "--until", "v2"])
        .exits(1);
    assert!(
        named.stdout.contains("1 regression between `v1` ("),
        "{}",
        named.stdout
    );
}

#[test]
fn staged_files_are_compared_with_head() {
    let project = repository();
    project.write("infra/mtls.yaml", STRICT);
    assert_eq!(changes(&run(&project, &["--staged"], 0)), [""; 0]);
    project.git("", &["add", "--all"]);
    project.write("infra/mtls.yaml", "");
    assert_eq!(changes(&run(&project, &["--staged"], 1)), BROKEN);
}

#[test]
fn a_part_of_the_tree_has_the_facts_of_the_whole() {
    let project = repository();
    project.write("infra/mtls.yaml", STRICT);
    assert_eq!(changes(&run(&project, &["apps"], 1)), BROKEN);
    let policies = run(&project, &["infra"], 0);
    assert_eq!(changes(&policies), [""; 0]);
    assert!(
        policies.stderr.contains("help: paths limit the report"),
        "{}",
        policies.stderr
    );
    let inside = [&JSON[..], &["web.yaml"]].concat();
    let inside = project.run_in("apps", &inside, "").exits(1);
    assert_eq!(changes(&inside), BROKEN);
}

#[test]
fn new_and_removed_paths_are_no_errors() {
    let project = repository();
    project.write("infra/mtls.yaml", STRICT);
    project.write(
        "more/web.yaml",
        NOT_REWRITTEN.replace("name: web", "name: more"),
    );
    let added = run(&project, &["more"], 1);
    assert_eq!(
        changes(&added),
        ["added more readinessProbe: none -> fails"]
    );
    std::fs::remove_dir_all(project.path("apps")).unwrap();
    let removed = run(&project, &["apps"], 0);
    assert_eq!(
        changes(&removed),
        ["removed web readinessProbe: ok -> none"]
    );
    run(&project, &["nowhere"], 2);
}

#[test]
fn renamed_files_are_no_change() {
    let project = repository();
    project.git("", &["mv", "apps", "workloads"]);
    assert_eq!(changes(&run(&project, &[], 0)), [""; 0]);
}

#[test]
fn a_state_that_cannot_be_read_is_an_error() {
    let project = repository();
    for (options, message) in [
        (&["--since", "nothing"][..], "nothing"),
        (&["--since", "HEAD", "--until", "nothing"], "nothing"),
        (&["--since", "--help"], "--help"),
        (&["--staged", "--since", "HEAD"], "--staged"),
        (&["--since", "HEAD", "-"], "standard input"),
    ] {
        let run = project.run(&[&["diff"], options].concat()).exits(2);
        assert!(run.stderr.contains(message), "{options:?}: {}", run.stderr);
        assert_eq!(run.stdout, "");
    }
    let outside = Project::with(&[("web.yaml", NOT_REWRITTEN)]);
    std::fs::remove_dir(outside.path(".git")).unwrap();
    let outside = outside.run(&["diff"]).exits(2);
    assert!(outside.stderr.contains("error: "), "{}", outside.stderr);
}

#[test]
fn old_findings_are_silent() {
    let project = repository();
    for number in 0..50 {
        let tcp = NOT_REWRITTEN
            .replace("httpGet: {path: /, port: 8080}", "tcpSocket: {port: 8080}")
            .replace("name: web", &format!("name: old{number}"));
        project.write(&format!("old/{number}.yaml"), tcp);
    }
    commit(&project, "old findings");
    project.git("", &["update-ref", "refs/remotes/origin/main", "HEAD"]);
    project.run(&["check", "old"]).exits(1);
    for name in ["one", "two"] {
        let text = NOT_REWRITTEN.replace("name: web", &format!("name: {name}"));
        project.write(&format!("apps/{name}.yaml"), text);
    }
    commit(&project, "three probes that are not rewritten");
    project.git("", &["update-ref", "refs/remotes/origin/main", "HEAD"]);
    project.write("infra/mtls.yaml", STRICT);
    commit(&project, "STRICT for one namespace");
    let run = project.run(&["diff"]).exits(1);
    let text = run.stdout;
    assert!(
        text.starts_with(
            "regression: infra/mtls.yaml:4 breaks 3 probes: STRICT for namespace `shop`\n"
        ),
        "{text}"
    );
    assert_eq!(text.matches("regression: ").count(), 1);
    project.git("", &["revert", "--no-edit", "HEAD"]);
    let reverted = project.run(&["diff"]).exits(0);
    assert!(
        reverted.stdout.starts_with("No changes between "),
        "{}",
        reverted.stdout
    );
}

#[test]
fn the_first_commit_is_compared_with_nothing() {
    let project = Project::with(&[
        ("apps/ns.yaml", INJECTED),
        ("apps/web.yaml", NOT_REWRITTEN),
        ("apps/mtls.yaml", STRICT),
    ]);
    std::fs::remove_dir(project.path(".git")).unwrap();
    project.git("", &["init", "--quiet", "--initial-branch", "main"]);
    project.git("", &["add", "--all"]);
    let staged = run(&project, &["--staged"], 1);
    assert_eq!(
        changes(&staged),
        ["added web readinessProbe: none -> fails"]
    );
}

#[test]
fn paths_of_another_repository_are_rejected() {
    let (one, other) = (repository(), repository());
    other.write("infra/mtls.yaml", STRICT);
    let path = other.path("apps").display().to_string();
    let run = one
        .run(&["diff", "--since", "HEAD", "apps", &path])
        .exits(2);
    assert!(
        run.stderr.contains("is not in the repository"),
        "{}",
        run.stderr
    );
}

/// Commit `base` in the name of another repository: a link that leads there must not select it.
#[test]
fn a_link_of_the_tree_does_not_select_another_repository() {
    let [project, other] = [repository(), repository()];
    project.git("", &["branch", "base"]);
    other.git("", &["branch", "base"]);
    let target = other.path("apps");
    fs::remove_dir_all(project.path("apps")).unwrap();
    symlink(&target, project.path("apps")).unwrap();
    commit(&project, "link");
    for options in [
        &["--since", "base"][..],
        &["--since", "base", "--until", "HEAD"],
    ] {
        let run = project
            .run(&[&["diff"], options, &["apps"]].concat())
            .exits(2);
        assert!(
            run.stderr
                .contains("the link `apps` leads out of the repository"),
            "{}",
            run.stderr
        );
    }
    // A link that git does not track belongs to the user.
    symlink(&target, project.path("mine")).unwrap();
    let run = project.run(&["diff", "--since", "base", "mine"]).exits(0);
    assert!(
        run.stderr.contains("not that of the working directory"),
        "{}",
        run.stderr
    );
}

#[test]
fn a_bare_repository_needs_both_revisions() {
    let project = repository();
    project.write("infra/mtls.yaml", STRICT);
    commit(&project, "strict");
    let bare = Project::new();
    // A folder in a working tree is not used as a bare repository.
    fs::remove_dir(bare.path(".git")).unwrap();
    let source = project.path("").to_string_lossy().into_owned();
    bare.git("", &["clone", "--quiet", "--bare", &source, "bare.git"]);
    let options = [&JSON[..], &["--since", "HEAD~1"]].concat();
    bare.run_in("bare.git", &options, "").exits(2);
    let both = [&options[..], &["--until", "HEAD"]].concat();
    let run = bare.run_in("bare.git", &both, "").exits(1);
    assert_eq!(changes(&run), BROKEN);
}

#[test]
fn an_environment_of_one_state_can_be_selected() {
    let project = repository();
    project.write(
        "apps/kustomization.yaml",
        "resources: [ns.yaml, web.yaml]\n",
    );
    for name in ["one", "two"] {
        let path = format!("clusters/{name}/kustomization.yaml");
        project.write(&path, "resources: [../../apps]\n");
    }
    commit(&project, "environments");
    project.write("clusters/new/mtls.yaml", STRICT);
    project.write(
        "clusters/new/kustomization.yaml",
        "resources: [../../apps, mtls.yaml]\n",
    );
    let options = ["--since", "HEAD", "--overlay", "new"];
    let added = run(&project, &options, 1);
    assert_eq!(changes(&added), ["added web readinessProbe: none -> fails"]);
    assert!(
        added
            .stderr
            .contains("note: only the working tree has the environment `new`"),
        "{}",
        added.stderr
    );
    let both = run(&project, &["--since", "HEAD", "--overlay", "nwe"], 2);
    assert!(
        both.stderr.contains("unknown environment `nwe`"),
        "{}",
        both.stderr
    );
}

#[test]
fn a_pointer_of_git_lfs_is_named() {
    let project = repository();
    let object = "4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393";
    project.write(
        "apps/web.yaml",
        format!("version https://git-lfs.github.com/spec/v1\noid sha256:{object}\nsize 123\n"),
    );
    let changed = run(&project, &["--since", "HEAD"], 1);
    assert_eq!(
        changes(&changed),
        [
            "regression unreadable-file",
            "removed web readinessProbe: ok -> none"
        ]
    );
    let check = project.run(&["check", "apps"]);
    assert!(
        check.stdout.contains("run `git lfs pull`"),
        "{}",
        check.stdout
    );
}

#[test]
fn paths_in_reports_are_relative_to_the_repository() {
    let project = repository();
    project.write("infra/mtls.yaml", STRICT);
    let paths = |options: &[&str]| {
        let formats = ["sarif", "markdown", "github"];
        formats.map(|format| {
            let options = [&["diff", "--output-format", format][..], options].concat();
            project.run_in("apps", &options, "").exits(1).stdout
        })
    };
    let [sarif, markdown, github] = paths(&["."]);
    assert!(sarif.contains("\"uri\": \"apps/web.yaml\""), "{sarif}");
    assert!(sarif.contains("\"uri\": \"infra/mtls.yaml\""), "{sarif}");
    assert!(markdown.contains("infra/mtls.yaml:4 breaks"), "{markdown}");
    assert!(markdown.contains("`apps/web.yaml:10`"), "{markdown}");
    assert!(github.contains("file=infra/mtls.yaml"), "{github}");
    let [_, markdown, _] = paths(&["--report-root", ".", "."]);
    assert!(markdown.contains("`web.yaml:10`"), "{markdown}");
}

/// The merge base has a name of its own only if it is neither of the commits.
#[test]
fn the_first_state_has_the_name_of_its_commit() {
    let project = repository();
    let before = |options: &[&str]| {
        let report = report(&run(&project, options, 0));
        report
            .pointer("/before/name")
            .unwrap()
            .as_str()
            .unwrap()
            .to_owned()
    };
    project.git("", &["branch", "other"]);
    project.write("notes.txt", "a");
    commit(&project, "ahead of the remote");
    assert!(
        before(&[]).starts_with("`origin/main` ("),
        "{}",
        before(&[])
    );
    project.git("", &["checkout", "--quiet", "other"]);
    project.git("", &["update-ref", "refs/remotes/origin/main", "main"]);
    run(&project, &[], 2).stderr_contains("nothing is compared: `HEAD` (");
    let since = before(&["--since", "main"]);
    assert!(since.starts_with("`HEAD` ("), "{since}");
    project.write("more.txt", "a");
    commit(&project, "both sides differ");
    let text = "the merge base of HEAD and origin/main (";
    assert!(before(&[]).starts_with(text), "{}", before(&[]));
}

/// `git status` names such a folder, but git does not track the files in it.
#[test]
fn another_working_tree_of_the_repository_is_not_a_part_of_it() {
    let project = repository();
    project.write("infra/mtls.yaml", STRICT);
    commit(&project, "strict");
    project.git("", &["worktree", "add", "--quiet", "-b", "inner", "inner"]);
    project.write(
        "inner/apps/other.yaml",
        NOT_REWRITTEN.replace("name: web", "name: api"),
    );
    assert_eq!(changes(&run(&project, &["--since", "HEAD"], 0)), [""; 0]);
    let found = project.run(&["predict", "."]).exits(0).stdout;
    assert_eq!(found.matches("Pod/web").count(), 1, "{found}");
    // It is read if it is the tree.
    let found = project.run(&["predict", "inner"]).exits(0).stdout;
    assert!(found.contains("Pod/api"), "{found}");
    let inside = project.run_in("inner", &["predict"], "").exits(0).stdout;
    assert!(inside.contains("Pod/api"), "{inside}");
}
