//! What `check` prints for the example of a rule, and how the example becomes the correct one.

use meshprobe::rules::{Example, Rule};
use similar::{ChangeTag, TextDiff};

use super::check;

/// Lines of context around a change.
const CONTEXT: usize = 3;

/// Returns the section with the first diagnostic, without the line that names the rule.
pub(super) fn output(rule: &Rule, example: &Example) -> String {
    let run = check(rule, example, &[], |_| {});
    let lines: Vec<&str> = run
        .stdout
        .lines()
        .take_while(|line| !line.is_empty())
        .filter(|line| !line.starts_with("  rule: "))
        .collect();
    assert!(
        lines
            .first()
            .is_some_and(|line| line.contains(rule.id.as_str())),
        "{}: the example is not reported\n{}\n{}",
        rule.id,
        run.stdout,
        run.stderr
    );
    format!("Output\n```text\n{}\n```", lines.join("\n"))
}

/// Returns the section with the differences between the two examples.
pub(super) fn changed_lines(bad: &Example, good: &Example) -> String {
    let (bad, good) = (text_of(bad), text_of(good));
    let diff = TextDiff::from_lines(&bad, &good);
    let hunks: Vec<String> = diff
        .grouped_ops(CONTEXT)
        .iter()
        .map(|hunk| {
            hunk.iter()
                .flat_map(|operation| diff.iter_changes(operation))
                .map(|change| {
                    let sign = match change.tag() {
                        ChangeTag::Equal => ' ',
                        ChangeTag::Delete => '-',
                        ChangeTag::Insert => '+',
                    };
                    format!("{sign}{}", change.value())
                })
                .collect::<String>()
        })
        .collect();
    assert!(!hunks.is_empty(), "the examples are equal");
    format!("Changed lines\n```diff\n{}```", hunks.join("…\n"))
}

/// Returns the files of an example as one text. A tree has a line with the path before each file.
fn text_of(example: &Example) -> String {
    let is_tree = example.files.len() > 1;
    let texts = example.files.iter().map(|(path, text)| {
        let head = if is_tree {
            format!("# file: {path}\n")
        } else {
            String::new()
        };
        head + text
    });
    texts.collect()
}
