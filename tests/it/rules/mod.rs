//! Rules, their fixtures and their documentation.

mod catalogue;
mod causes;
mod docs;
mod fixtures;
