//! Names of rules that do not exist.

use super::fixes::{NAMESPACE, opted_out};
use crate::support::project::Project;

const RULE: &str = "strict-probe-not-rewritten";
const CONFIG: &str =
    "apiVersion: meshprobe.dev/v1alpha1\nkind: MeshProbe\nmetadata: {name: x}\nspec:\n";

/// The beginnings of both names are equally similar to the rule, but the longer name exceeds the limit of a comparison.
#[test]
fn a_long_name_is_not_compared_with_the_rules() {
    let name = |length: usize| format!("{RULE}{}", "n".repeat(length - RULE.len()));
    let (short, long) = (name(128), name(129));
    let suggestion = format!("did you mean `{RULE}`?");
    let run = |select: &str| Project::new().run(&["check", "--select", select]).exits(2);
    run(&short).stderr_contains(&format!("unknown rule `{short}`; {suggestion}"));
    run(&long).stderr_contains(&format!(
        "unknown rule `{long}`; run `meshprobe rule` to list all rules"
    ));
    for (rule, is_compared) in [(&short, true), (&long, false)] {
        let config = format!("{CONFIG}  rules: {{{rule}: ignore}}\n");
        let comment = format!("# meshprobe: ignore[{rule}] reason\n{}", opted_out());
        let project = Project::with(&[("infra/ns.yaml", NAMESPACE), ("apps/web.yaml", &comment)]);
        let run = project
            .run(&["check", "--output-format", "concise"])
            .exits(1);
        let run = run.stdout_contains("invalid-suppression");
        assert_eq!(
            run.stdout.contains(&suggestion),
            is_compared,
            "{}",
            run.stdout
        );
        project.write(".meshprobe.yaml", config);
        let run = project.run(&["check"]).exits(2);
        assert_eq!(
            run.stderr.contains(&suggestion),
            is_compared,
            "{}",
            run.stderr
        );
    }
}
