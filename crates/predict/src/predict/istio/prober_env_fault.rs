//! How the injector changes a prober env, and why the agent refuses it.

/// How the injector changes the prober env of the manifest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reinjection {
    /// The env is unchanged.
    Untouched,
    /// The injector adds recorded probes to the env; existing entries take precedence.
    Merged,
    /// The injector appends its own env, and the last of two takes effect.
    Replaced,
    /// The injector drops recorded probes, because there is no env to add them to.
    Dropped,
}

/// Why the agent refuses its prober env, so that it does not start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProberEnvFault {
    /// An entry, or the whole value, is invalid.
    Invalid {
        /// The path of the entry; `None` for the whole value.
        path: Option<String>,
        /// What is wrong: the end of a sentence that starts with "its entry `path`", or a complete one.
        why: String,
    },
    /// The release does not support the path of a hook.
    Hook {
        /// The path.
        path: String,
    },
}
