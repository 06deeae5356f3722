//! Durations as Go's `time.ParseDuration` reads them.

/// The units of a duration.
const UNITS: [(&str, f64); 8] = [
    ("ns", 1.0),
    ("us", 1e3),
    ("\u{b5}s", 1e3),
    ("\u{3bc}s", 1e3),
    ("ms", 1e6),
    ("s", 1e9),
    ("m", 6e10),
    ("h", 3.6e12),
];

/// The maximum of a duration, in nanoseconds.
const MAX: f64 = 9_223_372_036_854_775_807.0;

/// Returns whether Go reads a text as a duration: numbers with units, such as `1h30m`.
pub(super) fn is_duration(text: &str) -> bool {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    if unsigned == "0" {
        return true;
    }
    let mut total = 0.0;
    let mut rest = unsigned;
    while !rest.is_empty() {
        let Some((nanoseconds, after)) = first_part(rest) else {
            return false;
        };
        total += nanoseconds;
        rest = after;
    }
    !unsigned.is_empty() && total <= MAX
}

/// Reads a number with a unit; returns it in nanoseconds, and the rest of the text.
fn first_part(text: &str) -> Option<(f64, &str)> {
    let is_number = |c: char| c.is_ascii_digit() || c == '.';
    let unit_start = text.find(|c| !is_number(c))?;
    let (number, rest) = text.split_at(unit_start);
    let unit_end = rest.find(is_number).unwrap_or(rest.len());
    let (unit, after) = rest.split_at(unit_end);
    let (_, size) = UNITS.iter().find(|(name, _)| *name == unit)?;
    let number: f64 = number.parse().ok()?;
    Some((number * size, after))
}

#[cfg(test)]
mod tests {
    use super::is_duration;

    #[test]
    fn durations_are_read_as_in_go() {
        for text in [
            "5s",
            "1h30m",
            "-1.5h",
            "+.5s",
            "1.s",
            "0",
            "-0",
            "100\u{b5}s",
            "0s",
        ] {
            assert!(is_duration(text), "{text}");
        }
        for text in [
            "",
            "5",
            "s",
            ".s",
            "1 s",
            "1d",
            "one",
            "+",
            "1e3s",
            "1..5s",
            " 1s",
            "99999999h",
        ] {
            assert!(!is_duration(text), "{text}");
        }
    }
}
