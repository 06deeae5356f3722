//! Panics on demand, for the tests of panic reports.
//!
//! `MESHPROBE_TEST_PANIC=STAGE` or `STAGE:PATH` makes the program panic there. Both the variable
//! and this module exist only with `debug_assertions`, so no release contains them. A cargo feature
//! would need another build of the program for these tests, and `--all-features` would put the
//! switch into a release; a marker in the manifest would let the input choose.

use std::sync::OnceLock;

/// The environment variable that the command line reads.
pub const VARIABLE: &str = "MESHPROBE_TEST_PANIC";

static PLANTED: OnceLock<String> = OnceLock::new();

/// Plants the one panic of this process.
pub fn plant(stage: String) {
    // A second call is another thread of the same test.
    let _ = PLANTED.set(stage);
}

/// Panics if a panic was planted for this stage, or for this stage of the file at `path`.
pub fn trip(stage: &str, path: &str) {
    let Some(planted) = PLANTED.get() else {
        return;
    };
    let (wanted, file) = planted.split_once(':').unwrap_or((planted, path));
    assert!(
        wanted != stage || file != path,
        "planted panic: {stage} \u{1b}[31m{path}\nsecond line"
    );
}
