//! Faults in the content of a file.

use std::fs::File;
use std::process::Stdio;

use super::page;
use super::scene::{NAMESPACE, check, check_with, deployment, row, shell};
use crate::support::command;
use crate::support::project::Project;

const POD: &str = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n";

/// A valid file next to one with the given text.
fn next_to_valid_file(text: impl AsRef<[u8]>) -> Project {
    let project = Project::with(&[("good.yaml", NAMESPACE)]);
    project.write("bad.yaml", text);
    project
}

/// A text with nine aliases per level: `levels` levels of the list between `open` and `close`.
fn bomb(first: &str, levels: usize, open: &str, close: &str) -> String {
    let mut text = format!("a0: &a0 {first}\n");
    for level in 1..levels {
        let below = vec![format!("*a{}", level - 1); 9].join(", ");
        text.push_str(&format!("a{level}: &a{level} {open}{below}{close}\n"));
    }
    text
}

fn list(items: &str) -> String {
    format!("{{apiVersion: v1, kind: List, items: [{items}]}}")
}

fn resources(items: &str) -> String {
    format!("apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n{items}")
}

/// A ConfigMap with one value of the given size in megabytes.
fn large_value(megabytes: usize) -> String {
    let value = "x".repeat(megabytes << 20);
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a}}\ndata: {{a: {value}}}\n")
}

#[test]
fn aliases_and_depth() {
    let nested: String = (0..300)
        .map(|depth| format!("{}a:\n", " ".repeat(depth)))
        .collect();
    let pod = list("{apiVersion: v1, kind: Pod, metadata: {name: a}}");
    let lists = bomb(&pod, 9, "{apiVersion: v1, kind: List, items: [", "]}");
    let lists = lists.replace("a0: &a0", "- &a0");
    let lists: String = lists
        .lines()
        .map(|line| match line.split_once(": &") {
            Some((_, rest)) => format!("- &{rest}\n"),
            None => format!("{line}\n"),
        })
        .collect();
    let own =
        "apiVersion: v1\nkind: List\nitems:\n- &a {apiVersion: v1, kind: List, items: [*a, *a]}\n";
    let containers = format!(
        "{POD}spec: {{containers: [&c {{name: a, env: [{}]}}, {}]}}\n",
        vec!["{name: X}"; 500].join(", "),
        vec!["*c"; 5_000].join(", ")
    );
    page::check(
        "Text",
        &[
            row(
                "aliases that multiply each other (nine to the ninth)",
                &next_to_valid_file(format!("{POD}{}", bomb("[x]", 10, "[", "]"))),
                1,
                "bad.yaml",
                check,
            ),
            row(
                "lists of lists through aliases",
                &next_to_valid_file(format!("apiVersion: v1\nkind: List\nitems:\n{lists}")),
                1,
                "bad.yaml",
                check,
            ),
            row(
                "the same, given to the KRM function",
                &Project::new(),
                2,
                "stdin",
                |project| project.pipe(&["krm"], resources(&lists)),
            ),
            row(
                "a list that contains itself",
                &next_to_valid_file(own),
                1,
                "bad.yaml",
                check,
            ),
            row(
                "one large container, repeated five thousand times by alias",
                &next_to_valid_file(containers),
                1,
                "bad.yaml",
                check,
            ),
            row(
                "merge keys that multiply each other",
                &next_to_valid_file(format!(
                    "{POD}{}",
                    bomb("{httpGet: {port: 1}}", 12, "{<<: [", "]}")
                )),
                1,
                "bad.yaml",
                check,
            ),
            row(
                "100,000 opening brackets",
                &next_to_valid_file(format!("{POD}x: {}", "[".repeat(100_000))),
                1,
                "bad.yaml",
                check,
            ),
            row(
                "a mapping 300 levels deep",
                &next_to_valid_file(format!("{POD}{nested}")),
                1,
                "bad.yaml",
                check,
            ),
            row(
                "the same depth, given to the KRM function",
                &Project::new(),
                2,
                "stdin",
                |project| project.pipe(&["krm"], resources(&format!("- {}", "[".repeat(300)))),
            ),
            row(
                "a value of 10 MB",
                &next_to_valid_file(large_value(10)),
                0,
                "Nothing was judged",
                check,
            ),
            row(
                "a value of 100 MB",
                &next_to_valid_file(large_value(100)),
                1,
                "file-left-out",
                check,
            ),
            row(
                "an unclosed value of 10 MB",
                &next_to_valid_file(format!("{POD}x: [{}", "x".repeat(10 << 20))),
                1,
                "bad.yaml",
                check,
            ),
            row(
                "100,000 documents, the last one broken",
                &next_to_valid_file(format!("{}{POD}x: [\n", "a: 1\n---\n".repeat(99_999))),
                1,
                "bad.yaml",
                check,
            ),
            row("a file of 600 MiB", &sparse(), 1, "bad.yaml", check),
            row(
                "the same file, named by the user",
                &sparse(),
                2,
                "bad.yaml",
                |project| check_with(project, &["bad.yaml"]),
            ),
            row(
                "text that is not UTF-8",
                &next_to_valid_file(b"apiVersion: v1\nkind: Pod\nmetadata: {name: caf\xe9}\n"),
                1,
                "bad.yaml",
                check,
            ),
            row("UTF-16", &next_to_valid_file(utf16()), 1, "bad.yaml", check),
            row(
                "UTF-8 with a byte order mark",
                &next_to_valid_file(format!("\u{feff}{}", deployment("web"))),
                0,
                "No findings",
                check,
            ),
            row(
                "a NUL in a manifest",
                &next_to_valid_file(format!("{POD}x: a\0b\n")),
                1,
                "bad.yaml",
                check,
            ),
            row(
                "a NUL in a name, escaped",
                &next_to_valid_file(deployment("web").replace("- name: web", "- name: \"w\\0b\"")),
                1,
                "container-name-invalid",
                check,
            ),
            row(
                "`proxy.istio.io/config` with a boolean where Istio expects a string",
                &Project::with(&[
                    ("ns.yaml", NAMESPACE),
                    ("web.yaml", &boolean_in_proxy_config()),
                ]),
                1,
                "invalid-traffic-annotation",
                check,
            ),
            row(
                "endless standard input",
                &Project::new(),
                2,
                "standard input",
                |project| endless(project, &["check", "-"]),
            ),
            row(
                "the same for the KRM function",
                &Project::new(),
                2,
                "standard input",
                |project| endless(project, &["krm"]),
            ),
            row(
                "empty standard input",
                &Project::new(),
                0,
                "standard input",
                |project| project.run(&["check", "-"]),
            ),
            row(
                "closed standard input",
                &Project::new(),
                0,
                "standard input",
                |project| shell(project, "\"$0\" check - <&-"),
            ),
            row(
                "closed standard input, KRM function",
                &Project::new(),
                2,
                "standard input",
                |project| shell(project, "\"$0\" krm <&-"),
            ),
            row(
                "standard input is a folder",
                &Project::new(),
                2,
                "standard input",
                |project| shell(project, "\"$0\" krm < ."),
            ),
            row(
                "manifests instead of a ResourceList",
                &Project::new(),
                2,
                "ResourceList",
                |project| project.pipe(&["krm"], POD),
            ),
            row(
                "a truncated ResourceList",
                &Project::new(),
                2,
                "stdin",
                |project| project.pipe(&["krm"], resources("- {apiVersion: v1, kind: Pod")),
            ),
        ],
    );
}

fn boolean_in_proxy_config() -> String {
    let annotation = "annotations: {proxy.istio.io/config: 'proxyMetadata: {DEBUG: true}'}";
    deployment("web").replace(
        "metadata: {labels: {app: web}}",
        &format!("metadata: {{labels: {{app: web}}, {annotation}}}"),
    )
}

fn sparse() -> Project {
    let project = next_to_valid_file("");
    let file = File::options()
        .write(true)
        .open(project.path("bad.yaml"))
        .unwrap();
    file.set_len(600 << 20).unwrap();
    project
}

fn utf16() -> Vec<u8> {
    let units = "\u{feff}apiVersion: v1\nkind: Pod\n".encode_utf16();
    units.flat_map(u16::to_le_bytes).collect()
}

fn endless(project: &Project, arguments: &[&str]) -> crate::support::Run {
    let mut command = command(crate::support::PROGRAM.as_ref(), &project.path(""));
    let zero = File::open("/dev/zero").unwrap();
    let output = command
        .args(arguments)
        .stdin(Stdio::from(zero))
        .output()
        .unwrap();
    crate::support::Run {
        code: output.status.code().unwrap(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}
