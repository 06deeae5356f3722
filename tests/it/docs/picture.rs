//! The pictures in the README and on the Start pages show the output of the binary on a terminal.
//!
//! `MESHPROBE_UPDATE_PICTURE=1 cargo test --test it docs::picture` draws it again.

use std::fmt::Write as _;
use std::path::Path;

use crate::support::meshprobe;

/// The page whose files `check` and `predict` read.
const START: &str = "docs/start/local.md";

/// A picture of the output of a command.
struct Picture {
    file: &'static str,
    title: &'static str,
    command: &'static str,
    /// Whether the picture ends at the first empty line.
    is_first_diagnostic: bool,
}

const DEMO: Picture = Picture {
    file: "docs/diagnostic.svg",
    title: "meshprobe check reports a readiness probe that fails under STRICT mutual TLS",
    command: "check --context fixtures/demo fixtures/demo/apps/payments/deployment.yaml",
    is_first_diagnostic: true,
};
const START_CHECK: Picture = Picture {
    file: "docs/start-check.svg",
    title: "meshprobe check reports a readiness probe that fails and a liveness probe that can never fail",
    command: "check",
    is_first_diagnostic: false,
};
const START_PREDICT: Picture = Picture {
    file: "docs/start-predict.svg",
    title: "meshprobe predict shows both probes, rewritten to port 15020",
    command: "predict",
    is_first_diagnostic: false,
};

/// The advance of a character and the height of a line, in pixels.
const ADVANCE: f64 = 7.8;
const LINE: usize = 18;
const MARGIN: usize = 16;

/// The text attributes that escape sequences have set.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Attributes {
    colour: Option<&'static str>,
    bold: bool,
    dim: bool,
    underlined: bool,
}

impl Attributes {
    fn set(&mut self, code: &str) {
        match code {
            "0" => *self = Self::default(),
            "1" => self.bold = true,
            "2" => self.dim = true,
            "4" => self.underlined = true,
            "31" => self.colour = Some("#ff7b72"),
            "32" => self.colour = Some("#7ee787"),
            "33" => self.colour = Some("#e3b341"),
            "35" => self.colour = Some("#d2a8ff"),
            "36" => self.colour = Some("#79c0ff"),
            other => panic!("unknown escape code {other}"),
        }
    }

    fn to_svg(self) -> String {
        let mut text = String::new();
        if let Some(colour) = self.colour {
            write!(text, " fill=\"{colour}\"").unwrap();
        }
        for (set, attribute) in [
            (self.bold, " font-weight=\"bold\""),
            (self.dim, " fill-opacity=\"0.6\""),
            (self.underlined, " text-decoration=\"underline\""),
        ] {
            if set {
                text.push_str(attribute);
            }
        }
        text
    }
}

/// Splits a line into spans with the same attributes.
fn spans(line: &str) -> Vec<(Attributes, String)> {
    let mut attributes = Attributes::default();
    let mut found: Vec<(Attributes, String)> = Vec::new();
    for (index, part) in line.split("\u{1b}[").enumerate() {
        let text = if index == 0 {
            part
        } else {
            let (codes, text) = part.split_once('m').unwrap();
            codes.split(';').for_each(|code| attributes.set(code));
            text
        };
        match found.last_mut() {
            Some((last, written)) if *last == attributes => written.push_str(text),
            _ => found.push((attributes, text.to_owned())),
        }
    }
    found
}

/// Draws one line; each indented span gets a position, so that no SVG reader can drop the spaces.
fn draw(line: &str, at: usize, svg: &mut String) -> usize {
    let mut column = 0;
    let bottom = MARGIN + LINE * at + LINE / 2;
    for (attributes, text) in spans(line) {
        let width = text.chars().count();
        let shown = text.trim_start();
        let start = column + width - shown.chars().count();
        let shown = shown.trim_end();
        if !shown.is_empty() {
            let escaped = shown
                .replace('&', "&amp;")
                .replace('<', "&lt;")
                .replace('>', "&gt;");
            writeln!(
                svg,
                "<text x=\"{:.1}\" y=\"{bottom}\" textLength=\"{:.1}\" xml:space=\"preserve\"{}>{escaped}</text>",
                f64::from(u32::try_from(start).unwrap()) * ADVANCE + 16.0,
                f64::from(u32::try_from(shown.chars().count()).unwrap()) * ADVANCE,
                attributes.to_svg(),
            )
            .unwrap();
        }
        column += width;
    }
    column
}

fn picture(title: &str, lines: &[String]) -> String {
    let mut texts = String::new();
    let mut columns = 0;
    for (at, line) in lines.iter().enumerate() {
        columns = columns.max(draw(line, at, &mut texts));
    }
    let width = f64::from(u32::try_from(columns).unwrap()) * ADVANCE + 32.0;
    let height = LINE * lines.len() + 2 * MARGIN;
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height}\" role=\"img\">\n\
         <title>{title}</title>\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"#0d1117\"/>\n\
         <g font-family=\"ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace\" \
         font-size=\"13\" fill=\"#e6edf3\">\n{texts}</g>\n</svg>\n"
    )
}

/// Runs the command of a picture in a folder, and compares the picture with the file.
fn compare(picture_of: &Picture, folder: &Path) {
    let mut arguments: Vec<&str> = picture_of.command.split(' ').collect();
    arguments.extend(["--isolated", "--color", "always"]);
    let run = meshprobe(folder, &arguments, "");
    assert!(run.code < 2, "{}", run.stderr);

    let is_shown = |line: &&str| !(picture_of.is_first_diagnostic && line.is_empty());
    let mut lines = vec![
        format!("\u{1b}[2m$\u{1b}[0m meshprobe {}", picture_of.command),
        String::new(),
    ];
    lines.extend(run.stdout.lines().take_while(is_shown).map(str::to_owned));
    let drawn = picture(picture_of.title, &lines);
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(picture_of.file);
    if std::env::var_os("MESHPROBE_UPDATE_PICTURE").is_some() {
        std::fs::write(file, drawn).unwrap();
        return;
    }
    let kept = std::fs::read_to_string(file).unwrap_or_default();
    assert_eq!(
        kept, drawn,
        "{} is out of date: run MESHPROBE_UPDATE_PICTURE=1 cargo test --test it docs::picture",
        picture_of.file
    );
}

/// Writes the files of a page, whose blocks start with `# file: path`, into a folder.
fn write_files(page: &str, folder: &Path) {
    for block in page.split("```yaml\n# file: ").skip(1) {
        let (block, _) = block.split_once("```").unwrap();
        let (path, text) = block.split_once('\n').unwrap();
        std::fs::write(folder.join(path), text).unwrap();
    }
}

#[test]
fn the_picture_shows_the_output_of_the_program() {
    compare(&DEMO, Path::new(env!("CARGO_MANIFEST_DIR")));
}

#[test]
fn the_pictures_of_the_start_page_show_the_output_for_its_files() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = std::fs::read_to_string(root.join(START)).unwrap();
    let folder = tempfile::tempdir().unwrap();
    write_files(&page, folder.path());
    compare(&START_CHECK, folder.path());
    let fixed = meshprobe(folder.path(), &["check", "--isolated", "--fix"], "");
    assert_eq!(fixed.code, 0, "{}{}", fixed.stdout, fixed.stderr);
    compare(&START_PREDICT, folder.path());
}
