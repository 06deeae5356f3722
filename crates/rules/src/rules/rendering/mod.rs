//! Rules for templates and overlays.

crate::rules::group::rules! {
    unrendered_template,
}
