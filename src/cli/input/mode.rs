//! How a command reads its input.

/// The input that replaces a rendering that fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cli) enum RenderFallback {
    /// The files that would be rendered.
    Files,
    /// Nothing: a rewrite of these files was not requested.
    Nothing,
}
