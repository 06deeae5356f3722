//! Rules, their fixtures and their documentation.

mod causes;
mod docs;
mod examples;
mod findings;
mod fix_pages;
mod fixes;
pub(crate) mod fixture;
mod page;
mod pod_security;
