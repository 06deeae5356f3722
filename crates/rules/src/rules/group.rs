//! Declares the rules and groups of this layer.
//!
//! `cargo fmt` does not follow modules that a macro declares; the gate formats every file by name.

/// Declares the rules of a group: the file and the constant `RULE` of each.
macro_rules! rules {
    ($($rule:ident),+ $(,)?) => {
        $(pub(in crate::rules) mod $rule;)+

        pub(in crate::rules) const RULES: &[&$crate::rules::Rule] = &[$(&$rule::RULE),+];
    };
}
pub(in crate::rules) use rules;

/// Declares groups of rules: a folder for each.
macro_rules! groups {
    ($($group:ident),+ $(,)?) => {
        $(pub(in crate::rules) mod $group;)+

        pub(in crate::rules) const GROUPS: &[&[&$crate::rules::Rule]] = &[$($group::RULES),+];
    };
}
pub(in crate::rules) use groups;
