//! Every format names the environments of a finding in one line.

use crate::support::{fixture, meshprobe};

/// Each format, with the environments as it writes them after a message.
const FORMATS: [(&str, &str); 7] = [
    ("concise", " (in: prod-eu, prod-us, staging)\n"),
    ("full", "in: prod-eu, prod-us, staging\n"),
    ("github", "%0Ain: prod-eu, prod-us, staging%0A"),
    ("gitlab", "\\nin: prod-eu, prod-us, staging\\n"),
    ("junit", "\nin: prod-eu, prod-us, staging\n"),
    ("sarif", "\\n\\nin: prod-eu, prod-us, staging\\n"),
    ("summary", "<br>in: prod-eu, prod-us, staging"),
];

#[test]
fn environments_are_one_line_in_every_format() {
    for (format, expected) in FORMATS {
        let arguments = ["check", "--isolated", "--output-format", format, "."];
        let run = meshprobe(&fixture("platform"), &arguments, "").exits(1);
        assert!(
            !run.stdout.contains("in this overlay"),
            "{format}\n{}",
            run.stdout
        );
        run.stdout_contains(expected);
    }
}
