//! How a command reads its input.

/// The input that replaces a rendering that fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cli) enum RenderFallback {
    /// The files that would be rendered.
    Files,
    /// Nothing: a rewrite of these files was not requested.
    Nothing,
}

/// Whether a run is a gate. A gate reports the tracked files that ignore files hide from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cli) enum Gate {
    /// `--fail-on` is given.
    Yes,
    /// A gate if the configuration contains `failOn`, or in CI.
    IfConfigured,
    /// The command edits files, and overlays that are hidden from it may depend on them.
    Rewrite,
    /// The command does not report findings of `check`.
    No,
}
