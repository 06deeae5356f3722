//! Notes that are the same for many workloads.

/// The text of a note about one workload that holds in the same way for others. Equal texts are reported once, with the
/// number of workloads.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SharedNote {
    /// What follows the title of one workload: ` is rewritten in the form …`.
    pub one: String,
    /// What follows the number of several workloads: ` are rewritten in the form …`.
    pub many: String,
}

impl SharedNote {
    /// Returns a note whose text after the verb is the same for one workload and for several.
    #[must_use]
    pub fn is_or_are(rest: &str) -> Self {
        Self {
            one: format!(" is {rest}"),
            many: format!(" are {rest}"),
        }
    }

    /// Returns a note that follows a colon.
    #[must_use]
    pub fn after_colon(rest: &str) -> Self {
        let text = format!(": {rest}");
        Self {
            one: text.clone(),
            many: text,
        }
    }
}
