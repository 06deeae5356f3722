//! Computes `primaryLocationLineHash`, by which code scanning recognizes a finding.
//!
//! The upload action of GitHub computes the hash from the file if it is missing, and warns if it differs
//! (github/codeql-action, `src/fingerprints.ts`). Uploads through the API use only the report.

use hashbrown::HashMap;

/// The number of characters that a hash covers, from the start of the line.
const BLOCK: usize = 100;

/// The base of the polynomial.
const BASE: u64 = 37;

/// The value that the reference implementation adds at the end of a file.
const END: u16 = 0xffff;

/// Returns the hash of each line, in order, in the format of the upload action: hexadecimal digits, a colon, and how often
/// this hash has occurred so far.
///
/// Spaces and tabs are ignored, and all line breaks are equal. Characters are UTF-16 code units; missing ones at the end
/// are 0.
pub(super) fn line_hashes(text: &str) -> Vec<String> {
    let (units, starts) = significant(text);
    let mut seen: HashMap<u64, usize> = HashMap::new();
    starts
        .into_iter()
        .map(|start| {
            let rest = units.get(start..).unwrap_or_default().iter();
            let padded = rest.copied().chain(std::iter::repeat(0)).take(BLOCK);
            let hash = padded.fold(0_u64, |hash, unit| {
                hash.wrapping_mul(BASE).wrapping_add(u64::from(unit))
            });
            let count = seen.entry(hash).or_default();
            *count += 1;
            format!("{hash:x}:{count}")
        })
        .collect()
}

/// Returns the characters that are hashed, and the index of the start of each line.
fn significant(text: &str) -> (Vec<u16>, Vec<usize>) {
    const LF: u16 = b'\n' as u16;
    const CR: u16 = b'\r' as u16;
    let mut units = Vec::with_capacity(text.len());
    let mut starts = Vec::new();
    let mut line_start = true;
    let mut after_cr = false;
    for unit in text.encode_utf16().chain([END]) {
        let skipped = matches!(unit, 0x20 | 0x09) || (after_cr && unit == LF);
        after_cr = unit == CR && !skipped;
        if skipped {
            continue;
        }
        if line_start {
            starts.push(units.len());
        }
        let unit = if unit == CR { LF } else { unit };
        line_start = unit == LF;
        units.push(unit);
    }
    (units, starts)
}

#[cfg(test)]
mod tests {
    use super::line_hashes;

    /// The values of the tests of github/codeql-action (`src/fingerprints.test.ts`).
    #[test]
    fn hashes_are_equal_to_those_of_the_upload_action() {
        assert_eq!(line_hashes(""), ["c129715d7a2bc9a3:1"]);
        assert_eq!(
            line_hashes(" a\nb\n  \t\tc\n d"),
            [
                "271789c17abda88f:1",
                "54703d4cd895b18:1",
                "180aee12dab6264:1",
                "a23a3dc5e078b07b:1"
            ]
        );
        let breaks = [
            " hello; \t\nworld!!!\n\n\n  \t\tGreetings\n End\n",
            " hello; \t\nworld!!!\r\r\r  \t\tGreetings\r End\r",
            " hello; \t\r\nworld!!!\r\n\r\n\r\n  \t\tGreetings\r\n End\r\n",
            " hello; \t\nworld!!!\r\n\n\r  \t\tGreetings\r End\r\n",
        ];
        for text in breaks {
            assert_eq!(
                line_hashes(text),
                [
                    "e9496ae3ebfced30:1",
                    "fb7c023a8b9ccb3f:1",
                    "ce8ba1a563dcdaca:1",
                    "e20e36e16fcb0cc8:1",
                    "b3edc88f2938467e:1",
                    "c8e28b0b4002a3a0:1",
                    "c129715d7a2bc9a3:1"
                ]
            );
        }
        assert_eq!(
            line_hashes(&"Lorem ipsum dolor sit amet.\n".repeat(10)),
            [
                "a7f2ff13bc495cf2:1",
                "a7f2ff13bc495cf2:2",
                "a7f2ff13bc495cf2:3",
                "a7f2ff13bc495cf2:4",
                "a7f2ff13bc495cf2:5",
                "a7f2ff13bc495cf2:6",
                "a7f2ff1481e87703:1",
                "a9cf91f7bbf1862b:1",
                "55ec222b86bcae53:1",
                "cc97dc7b1d7d8f7b:1",
                "c129715d7a2bc9a3:1"
            ]
        );
    }
}
