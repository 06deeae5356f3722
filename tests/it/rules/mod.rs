//! Rules, their fixtures and their documentation.

mod causes;
mod docs;
mod examples;
mod findings;
mod fixes;
mod fixture;
