//! `docs/mcp.md` agrees with the server.

use std::fs;
use std::path::Path;

use meshprobe::mcp::reference;

/// The lines around the part of the page that is generated.
const START: &str = "<!-- Generated from the schemas of the tools. -->\n\n";
const END: &str = "<!-- End of the generated part. -->\n";

#[test]
fn the_reference_equals_the_schemas() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/mcp.md");
    let page = fs::read_to_string(&path).unwrap();
    let (before, rest) = page.split_once(START).unwrap();
    let (found, after) = rest.split_once(END).unwrap();
    let expected = reference();
    if std::env::var_os("MESHPROBE_UPDATE_DOCS").is_some() {
        fs::write(&path, format!("{before}{START}{expected}{END}{after}")).unwrap();
    } else {
        assert_eq!(found, expected, "run with MESHPROBE_UPDATE_DOCS=1");
    }
}
