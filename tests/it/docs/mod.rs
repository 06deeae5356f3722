//! The README, the pages and the pictures agree with the program and with the style guide.

mod links;
mod picture;
mod readme;
mod reference;
mod site;
mod style;
