//! Integers as Kubernetes tools read them.

use meshprobe_yaml::{NodeRef, Scalar};

/// Returns the integer that Kubernetes tools read from a scalar: 8080 for both `8080` and `8080.0`.
#[must_use]
pub fn integer(node: NodeRef<'_>) -> Option<i64> {
    match node.scalar()? {
        Scalar::Int(number) => Some(number),
        #[expect(
            clippy::cast_possible_truncation,
            reason = "checked to be integral and small"
        )]
        Scalar::Float(number) if number.fract() == 0.0 && number.abs() < 1e15 => {
            Some(number as i64)
        }
        _ => None,
    }
}
