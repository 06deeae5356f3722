//! Panics on demand, for the tests of panic reports.
//!
//! `MESHPROBE_TEST_PANIC=STAGE` or `STAGE:PATH` makes the program panic in this stage. The variable and this module exist
//! only with `debug_assertions`, so no release contains them. A cargo feature would require another build of the program
//! for these tests, and `--all-features` would add the switch to a release. A marker in the manifest would let the input
//! cause panics.

use std::sync::OnceLock;

/// The environment variable that the command line reads.
pub const VARIABLE: &str = "MESHPROBE_TEST_PANIC";

static PLANTED: OnceLock<String> = OnceLock::new();

/// Plants the panic of this process, of which there is at most one.
pub fn plant(stage: String) {
    // A second call comes from another thread of the same test.
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
