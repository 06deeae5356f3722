//! For any change of any tree: a cause is a line of the text diff that has an effect, or it is not found. In all formats.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use proptest::prelude::*;
use regex::Regex;
use serde_json::Value;

use super::report;
use crate::support::project::Project;

type Tree = BTreeMap<String, String>;

const FILES: [(&str, &str); 13] = [
    (
        "apps/base/kustomization.yaml",
        "resources:\n- web.yaml\n- api.yaml\nlabels:\n- pairs:\n    team: shop\n",
    ),
    (
        "apps/base/web.yaml",
        "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\nspec:\n  selector:\n    matchLabels:\n      app: web\n  template:\n    metadata:\n      labels:\n        app: web\n        tier: front\n      annotations:\n        sidecar.istio.io/rewriteAppHTTPProbers: 'false'\n    spec:\n      containers:\n      - name: web\n        image: web:1\n        ports:\n        - name: http\n          containerPort: 8080\n        readinessProbe:\n          httpGet:\n            path: /ready\n            port: http\n        livenessProbe:\n          tcpSocket:\n            port: 8080\n",
    ),
    (
        "apps/base/api.yaml",
        "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: api\nspec:\n  selector:\n    matchLabels:\n      app: api\n  template:\n    metadata:\n      labels:\n        app: api\n        tier: back\n    spec:\n      containers:\n      - name: api\n        image: api:1\n        ports:\n        - name: http\n          containerPort: 8080\n        readinessProbe:\n          httpGet:\n            path: /ready\n            port: http\n      - name: cache\n        image: cache:1\n        ports:\n        - name: tcp\n          containerPort: 6379\n        readinessProbe:\n          tcpSocket:\n            port: tcp\n",
    ),
    (
        "apps/components/on/kustomization.yaml",
        "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\npatches:\n- path: on.yaml\n",
    ),
    (
        "apps/components/on/on.yaml",
        "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\nspec:\n  template:\n    metadata:\n      annotations:\n        sidecar.istio.io/rewriteAppHTTPProbers: 'true'\n",
    ),
    (
        "apps/prod/kustomization.yaml",
        "namespace: prod\nresources:\n- ../base\n- mtls.yaml\ncomponents:\n- ../components/on\npatches:\n- path: port.yaml\nimages:\n- name: web\n  newTag: '2'\n",
    ),
    (
        "apps/prod/port.yaml",
        "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: api\nspec:\n  template:\n    metadata:\n      annotations:\n        sidecar.istio.io/rewriteAppHTTPProbers: 'false'\n",
    ),
    (
        "apps/prod/mtls.yaml",
        "apiVersion: security.istio.io/v1\nkind: PeerAuthentication\nmetadata:\n  name: strict\nspec:\n  selector:\n    matchLabels:\n      tier: front\n  mtls:\n    mode: STRICT\n",
    ),
    (
        "apps/test/kustomization.yaml",
        "namespace: test\nresources:\n- ../base\n",
    ),
    (
        "infra/namespaces.yaml",
        "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: prod\n  labels:\n    istio-injection: enabled\n---\napiVersion: v1\nkind: Namespace\nmetadata:\n  name: test\n  labels:\n    istio-injection: enabled\n",
    ),
    (
        "infra/mtls.yaml",
        "apiVersion: security.istio.io/v1\nkind: PeerAuthentication\nmetadata:\n  name: default\n  namespace: test\nspec:\n  mtls:\n    mode: PERMISSIVE\n",
    ),
    (
        "clusters/prod.yaml",
        "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata:\n  name: prod\n  namespace: flux-system\nspec:\n  path: ./apps/prod\n  sourceRef:\n    kind: GitRepository\n    name: flux-system\n",
    ),
    (
        "plain/job.yaml",
        "apiVersion: v1\nkind: Pod\nmetadata:\n  name: job\n  namespace: test\nspec:\n  containers:\n  - name: job\n    image: job:1\n    ports:\n    - containerPort: 80\n    startupProbe:\n      httpGet:\n        path: /\n        port: 80\n",
    ),
];

/// Texts that are replaced wherever a file contains them, in either direction.
const REPLACED: [(&str, &str); 18] = [
    ("name: http\n", "name: web\n"),
    ("port: http\n", "port: 8080\n"),
    ("containerPort: 8080", "containerPort: 8081"),
    ("'false'", "'true'"),
    ("mode: STRICT", "mode: PERMISSIVE"),
    ("tier: front", "tier: back"),
    ("istio-injection: enabled", "istio-injection: disabled"),
    ("namespace: test", "namespace: prod"),
    ("name: web\n", "name: shop\n"),
    ("httpGet:\n            path: /ready", "tcpSocket:"),
    ("image: web:1", "image: web:2"),
    ("newTag: '2'", "newTag: '3'"),
    ("path: ./apps/prod", "path: ./apps/test"),
    ("resources:\n", "resource:\n"),
    ("app: web", "app: api"),
    (
        "    spec:\n      containers",
        "    spec:\n      hostNetwork: true\n      containers",
    ),
    ("- path: on.yaml\n", "- path: ../../prod/port.yaml\n"),
    ("apiVersion", "# A comment.\napiVersion"),
];

/// A random edit; the numbers select its place.
#[derive(Clone, Debug)]
enum Edit {
    Replace(usize, usize),
    RemoveLine(usize),
    RepeatLine(usize),
    SwapLines(usize),
    RemoveFile(usize),
    MoveFile(usize, usize),
    AddEntry(usize, usize),
}

fn edit() -> impl Strategy<Value = Edit> {
    let number = || 0_usize..10_000;
    prop_oneof![
        6 => (0..REPLACED.len(), number()).prop_map(|(text, at)| Edit::Replace(text, at)),
        3 => number().prop_map(Edit::RemoveLine),
        1 => number().prop_map(Edit::RepeatLine),
        1 => number().prop_map(Edit::SwapLines),
        1 => number().prop_map(Edit::RemoveFile),
        1 => (number(), number()).prop_map(|(file, folder)| Edit::MoveFile(file, folder)),
        1 => (number(), number()).prop_map(|(file, entry)| Edit::AddEntry(file, entry)),
    ]
}

fn apply(tree: &mut Tree, edit: &Edit) {
    let paths: Vec<String> = tree.keys().cloned().collect();
    let all: usize = tree.values().map(|text| text.lines().count()).sum();
    if paths.is_empty() || all == 0 {
        return;
    }
    // The file and the index of a line of the tree.
    let line = |at: usize| {
        let mut at = at % all;
        for (path, text) in &*tree {
            let count = text.lines().count();
            if at < count {
                return (path.clone(), at);
            }
            at -= count;
        }
        unreachable!()
    };
    let edit_lines =
        |tree: &mut Tree, at: (String, usize), edit: &dyn Fn(&mut Vec<&str>, usize)| {
            let text = tree.get_mut(&at.0).unwrap();
            let mut lines: Vec<&str> = text.lines().collect();
            edit(&mut lines, at.1);
            *text = lines.iter().flat_map(|line| [*line, "\n"]).collect();
        };
    match *edit {
        Edit::Replace(index, at) => {
            let (one, other) = REPLACED[index];
            let mut found: Vec<(String, usize, &str, &str)> = Vec::new();
            for (path, text) in &*tree {
                for (from, to) in [(one, other), (other, one)] {
                    let all = text.match_indices(from);
                    found.extend(all.map(|(start, _)| (path.clone(), start, from, to)));
                }
            }
            if !found.is_empty() {
                let (path, start, from, to) = &found[at % found.len()];
                let text = tree.get_mut(path).unwrap();
                text.replace_range(*start..start + from.len(), to);
            }
        }
        Edit::RemoveLine(at) => edit_lines(tree, line(at), &|lines, at| {
            lines.remove(at);
        }),
        Edit::RepeatLine(at) => {
            edit_lines(tree, line(at), &|lines, at| lines.insert(at, lines[at]));
        }
        Edit::SwapLines(at) => edit_lines(tree, line(at), &|lines, at| {
            let next = (at + 1).min(lines.len() - 1);
            lines.swap(at, next);
        }),
        Edit::RemoveFile(file) => {
            tree.remove(&paths[file % paths.len()]);
        }
        Edit::MoveFile(file, folder) => {
            let path = &paths[file % paths.len()];
            let name = path.rsplit('/').next().unwrap();
            let other = &paths[folder % paths.len()];
            let (folder, _) = other.rsplit_once('/').unwrap();
            let text = tree.remove(path).unwrap();
            tree.insert(format!("{folder}/{name}"), text);
        }
        Edit::AddEntry(file, entry) => {
            let kustomizations = paths
                .iter()
                .filter(|path| path.ends_with("kustomization.yaml"));
            let kustomizations: Vec<&String> = kustomizations.collect();
            if !kustomizations.is_empty() {
                let entries = [
                    "patches:\n- path: port.yaml\n",
                    "components:\n- ../components/on\n",
                    "resources:\n- ../../infra\n",
                    "namespace: test\n",
                    "commonLabels:\n  tier: front\n",
                ];
                let path = kustomizations[file % kustomizations.len()];
                let text = tree.get_mut(path).unwrap();
                text.push_str(entries[entry % entries.len()]);
            }
        }
    }
}

/// Returns the lines of the text diff, as `path:line`.
fn lines_of_diff(project: &Project) -> BTreeSet<String> {
    let mut git = Command::new("git");
    git.env("GIT_CONFIG_GLOBAL", "/dev/null");
    let options = [
        "diff",
        "--no-index",
        "--no-renames",
        "-U0",
        "before",
        "after",
    ];
    let output = git.args(options).current_dir(project.path("")).output();
    let output = String::from_utf8(output.unwrap().stdout).unwrap();
    let header = Regex::new(r"^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@").unwrap();
    let (mut old, mut new) = ("", "");
    let mut found = BTreeSet::new();
    for line in output.lines() {
        if let Some(path) = line.strip_prefix("--- ") {
            old = path.strip_prefix("a/").unwrap_or("");
        } else if let Some(path) = line.strip_prefix("+++ ") {
            new = path.strip_prefix("b/").unwrap_or("");
        } else if let Some(numbers) = header.captures(line) {
            let number = |index: usize, default: usize| {
                let number = numbers.get(index);
                number.map_or(default, |number| number.as_str().parse().unwrap())
            };
            for (path, start) in [(old, 1), (new, 3)] {
                let first = number(start, 0);
                let lines = first..first + number(start + 1, 1);
                found.extend(lines.map(|line| format!("{path}:{line}")));
            }
        }
    }
    found
}

/// Adds the lines that have other neighbours on both sides: of two lines that are swapped, git shows either as moved.
fn add_moved_lines(lines: &mut BTreeSet<String>, before: &Tree, after: &Tree) {
    let pairs = |text: &str| -> Vec<(String, String)> {
        let all = [&[""], &*text.lines().collect::<Vec<_>>(), &[""]].concat();
        let pairs = all.windows(2);
        pairs
            .map(|two| (two[0].to_owned(), two[1].to_owned()))
            .collect()
    };
    for (own, other, folder) in [(before, after, "before"), (after, before, "after")] {
        for (path, text) in own {
            let others = other.get(path).map(|text| pairs(text)).unwrap_or_default();
            for (index, two) in pairs(text).windows(2).enumerate() {
                if two.iter().all(|pair| !others.contains(pair)) {
                    lines.insert(format!("{folder}/{path}:{}", index + 1));
                }
            }
        }
    }
}

/// Adds an annotation without an effect to each object, with a value that differs in both states.
fn with_noise(tree: &Tree, value: &str) -> Tree {
    let metadata = Regex::new(r"(?m)^metadata:\n").unwrap();
    let noisy = format!("metadata:\n  annotations:\n    owner: {value}\n");
    let noise = |text: &String| metadata.replace_all(text, &*noisy).into_owned();
    tree.iter()
        .map(|(path, text)| (path.clone(), noise(text)))
        .collect()
}

/// Returns the causes that a report names, as `path:line`.
fn causes_in(format: &str, text: &str) -> Vec<String> {
    let place = r"((?:before|after)/[\w./-]+:\d+)";
    let patterns = match format {
        "full" | "markdown" => vec![
            format!(
                r"(?m)^(?:\*\*)?(?:regression|improvement|changed|added|removed)(?:\*\*)?:\s+(?:the\s+removal\s+of\s+)?{place}"
            ),
            format!(r"(?m)^(?:\*\*)?(?:added|removed)(?:\*\*)?:\s+\d+[\w\s]*:\s+{place}"),
        ],
        _ => vec![
            format!(r"\(cause: {place}"),
            format!(r"cause: the removal of {place}"),
            format!(r"::{place} breaks"),
        ],
    };
    let found = patterns.iter().flat_map(|pattern| {
        let pattern = Regex::new(pattern).unwrap();
        let all = pattern.captures_iter(text);
        all.map(|found| found[1].to_owned()).collect::<Vec<_>>()
    });
    found.collect()
}

/// Compares two trees, and checks every cause. Returns the number of causes with a line.
fn check(before: &Tree, after: &Tree) -> usize {
    let project = Project::new();
    for (folder, tree) in [("before", before), ("after", after)] {
        project.write(&format!("{folder}/README.md"), "");
        for (path, text) in tree {
            project.write(&format!("{folder}/{path}"), text);
        }
    }
    let mut lines = lines_of_diff(&project);
    add_moved_lines(&mut lines, before, after);
    let run = |format: &str| project.run(&["diff", "--output-format", format, "before", "after"]);
    let json = run("json");
    if json.stdout.is_empty() {
        // The trees have nothing to compare, or nothing in common.
        return 0;
    }
    let report = report(&json);
    let all = report.pointer("/changes").unwrap().as_array().unwrap();
    let mut found = 0;
    for change in all.iter().filter(|change| !change["probe"].is_null()) {
        let cause = &change["cause"];
        let message = cause["message"].as_str().unwrap_or_default();
        let Some(path) = cause["path"].as_str() else {
            assert!(
                message.contains("not found among the changed lines"),
                "{change:#}"
            );
            continue;
        };
        let line = cause["line"].as_u64().unwrap();
        assert!(
            lines.contains(&format!("{path}:{line}")),
            "{change:#}\n{lines:#?}"
        );
        let (side, file) = path.split_once('/').unwrap();
        let tree = if side == "before" { before } else { after };
        let text = tree[file].lines().nth(usize::try_from(line).unwrap() - 1);
        let is_noise = text.unwrap().trim_start().starts_with("owner: ");
        assert!(!is_noise, "{change:#}");
        let side = Value::from(side);
        assert_eq!(cause["state"], side, "{change:#}");
        found += 1;
    }
    let formats = ["full", "markdown", "concise", "github", "sarif"].iter();
    // Other formats name the same causes.
    for format in formats.filter(|_| found > 0) {
        let text = run(format).stdout;
        for cause in causes_in(format, &text) {
            assert!(
                lines.contains(&cause),
                "{format}: {cause}\n{text}\n{lines:#?}"
            );
        }
    }
    found
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, max_shrink_iters: 32, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn causes_are_lines_of_the_text_diff(
        setup in prop::collection::vec(edit(), 0..5),
        edits in prop::collection::vec(edit(), 1..4),
    ) {
        let mut before: Tree = FILES
            .iter()
            .map(|(path, text)| ((*path).to_owned(), (*text).to_owned()))
            .collect();
        setup.iter().for_each(|edit| apply(&mut before, edit));
        let mut after = before.clone();
        edits.iter().for_each(|edit| apply(&mut after, edit));
        check(&with_noise(&before, "a"), &with_noise(&after, "b"));
        check(&before, &after);
    }
}

/// The property does not hold because nothing is found: most single edits that change a probe have a line.
#[test]
fn most_causes_are_found() {
    let before: Tree = FILES
        .iter()
        .map(|(path, text)| ((*path).to_owned(), (*text).to_owned()))
        .collect();
    let mut found = 0;
    for (index, _) in REPLACED.iter().enumerate() {
        let mut after = before.clone();
        apply(&mut after, &Edit::Replace(index, 0));
        found += check(&before, &after);
    }
    assert!(found >= 12, "{found}");
}
