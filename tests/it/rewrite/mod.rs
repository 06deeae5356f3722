//! Properties of every rewrite.

mod introduces_no_findings;
mod pods;
mod properties;
