//! The cost of each stage in process: `cargo bench`. `bench/compare.sh` measures ratios to other
//! programs.

use std::path::PathBuf;
use std::sync::Arc;

use divan::counter::BytesCount;
use divan::{Bencher, black_box};
use meshprobe::engine;
use meshprobe::settings::{FailOn, Layer, Settings};
use meshprobe::source::{Input, Request, SourceSet};
use meshprobe::yaml::{self, Span};

fn main() {
    divan::main();
}

/// The trees of fixtures that are most similar to those of users.
const TREES: [&str; 2] = ["fixtures/gitops", "fixtures/rules"];

fn request(tree: &str) -> Request {
    Request {
        targets: vec![Input::Path(PathBuf::from(tree))],
        working_directory: PathBuf::from(env!("CARGO_MANIFEST_DIR")),
        ..Request::default()
    }
}

fn settings() -> Settings {
    Layer::default().resolved(FailOn::default())
}

fn texts(set: &SourceSet) -> Vec<Arc<str>> {
    set.files
        .iter()
        .map(|file| Arc::clone(&file.text))
        .collect()
}

fn bytes(set: &SourceSet) -> BytesCount {
    let lengths = set.files.iter().map(|file| file.text.len());
    BytesCount::from(lengths.sum::<usize>())
}

#[divan::bench(args = TREES)]
fn parse(bencher: Bencher<'_, '_>, tree: &str) {
    let set = engine::load(&request(tree));
    let texts = texts(&set);
    bencher.counter(bytes(&set)).bench(|| {
        for text in &texts {
            let _ = black_box(yaml::parse(text, Span::new(0, text.len())));
        }
    });
}

#[divan::bench(args = TREES)]
fn load(bencher: Bencher<'_, '_>, tree: &str) {
    let request = request(tree);
    bencher.bench(|| engine::load(black_box(&request)));
}

#[divan::bench(args = TREES)]
fn check(bencher: Bencher<'_, '_>, tree: &str) {
    let set = engine::load(&request(tree));
    let settings = settings();
    bencher
        .counter(bytes(&set))
        .bench(|| engine::check(black_box(&set), &settings));
}

#[divan::bench(args = TREES)]
fn rewrite(bencher: Bencher<'_, '_>, tree: &str) {
    let set = engine::load(&request(tree));
    let settings = settings();
    bencher.bench(|| engine::rewrite(black_box(&set), &settings));
}
