//! Field paths, such as `spec.containers[0].livenessProbe`.

use std::borrow::Cow;
use std::fmt;

/// One step of a [`FieldPath`].
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Step {
    /// The value of a key.
    Key(Cow<'static, str>),
    /// The item of a sequence, from 0.
    Index(usize),
}

impl From<&'static str> for Step {
    fn from(key: &'static str) -> Self {
        Self::Key(Cow::Borrowed(key))
    }
}

impl From<String> for Step {
    fn from(key: String) -> Self {
        Self::Key(Cow::Owned(key))
    }
}

impl From<usize> for Step {
    fn from(index: usize) -> Self {
        Self::Index(index)
    }
}

/// Steps from the root of a document.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FieldPath(Vec<Step>);

impl FieldPath {
    /// Returns the route of the root.
    #[must_use]
    pub const fn root() -> Self {
        Self(Vec::new())
    }

    /// Returns the route through the given keys.
    #[must_use]
    pub fn keys(keys: &[&'static str]) -> Self {
        Self(keys.iter().map(|&key| Step::from(key)).collect())
    }

    /// Returns this route with one more step.
    #[must_use]
    pub fn child(&self, step: impl Into<Step>) -> Self {
        let mut steps = Vec::with_capacity(self.0.len() + 1);
        steps.extend_from_slice(&self.0);
        steps.push(step.into());
        Self(steps)
    }

    /// Returns this route followed by all steps of `rest`.
    #[must_use]
    pub fn join(&self, rest: &Self) -> Self {
        Self(self.0.iter().chain(&rest.0).cloned().collect())
    }

    /// Returns the steps from the root.
    #[must_use]
    pub fn steps(&self) -> &[Step] {
        &self.0
    }

    /// Returns the route without its last step, and that step; `None` for the root.
    #[must_use]
    pub fn split_last(&self) -> Option<(Self, &Step)> {
        let (last, front) = self.0.split_last()?;
        Some((Self(front.to_vec()), last))
    }
}

/// Writes the field path in the notation of Kubernetes; keys with special characters are quoted
/// in brackets.
impl fmt::Display for FieldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, step) in self.0.iter().enumerate() {
            match step {
                Step::Index(index) => write!(f, "[{index}]")?,
                Step::Key(key) if key.contains(['.', '/', '[', ' ']) || key.is_empty() => {
                    write!(f, "[{key:?}]")?;
                }
                Step::Key(key) if at == 0 => f.write_str(key)?,
                Step::Key(key) => write!(f, ".{key}")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn routes_are_displayed_as_field_paths() {
        let route = FieldPath::keys(&["spec", "containers"])
            .child(0)
            .child("livenessProbe");
        assert_eq!(route.to_string(), "spec.containers[0].livenessProbe");
        let route = FieldPath::keys(&["metadata", "annotations"]).child("proxy.istio.io/config");
        assert_eq!(
            route.to_string(),
            r#"metadata.annotations["proxy.istio.io/config"]"#
        );
    }
}
