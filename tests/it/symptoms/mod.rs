//! The symptoms that `explain` knows: their pages, and the texts that lead to them.

mod pages;
mod texts;
