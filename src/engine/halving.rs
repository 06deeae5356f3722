//! Finds the items that can be accepted together. Few attempts suffice if nearly all items can.

/// Returns the indexes of the items that `accepts` accepts. Items are tried in groups; a rejected group is split in half.
///
/// `accepts` receives the indexes that are already accepted, and those of the group. At most `attempts` groups are tried,
/// because an attempt parses a whole document, and the author of the document must not choose how often. The remaining
/// items are not accepted.
pub(super) fn accepted(
    count: usize,
    mut attempts: usize,
    mut accepts: impl FnMut(&[usize], &[usize]) -> bool,
) -> Vec<usize> {
    let mut good: Vec<usize> = Vec::with_capacity(count);
    let mut waiting: Vec<Vec<usize>> = vec![(0..count).collect()];
    while let Some(group) = waiting.pop() {
        let Some(left) = attempts.checked_sub(1).filter(|_| !group.is_empty()) else {
            continue;
        };
        attempts = left;
        if accepts(&good, &group) {
            good.extend(group);
        } else if group.len() > 1 {
            let (front, back) = group.split_at(group.len() / 2);
            // The front half is tried first, so it is pushed last.
            waiting.push(back.to_vec());
            waiting.push(front.to_vec());
        }
    }
    good
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_attempts_find_the_rejected_items() {
        let mut attempts = 0;
        let good = accepted(1_000, 100, |_, group| {
            attempts += 1;
            !group.contains(&3) && !group.contains(&700)
        });
        assert_eq!(good.len(), 998);
        assert!(!good.contains(&3) && !good.contains(&700));
        assert!(attempts < 45, "{attempts}");
    }

    #[test]
    fn earlier_items_are_preferred() {
        // 1 and 2 cannot be combined.
        let good = accepted(4, 100, |good, group| {
            let all = || good.iter().chain(group);
            !(all().any(|at| *at == 1) && all().any(|at| *at == 2))
        });
        assert_eq!(good, [0, 1, 3]);
    }

    #[test]
    fn attempts_are_limited() {
        let mut attempts = 0;
        let good = accepted(1_000, 10, |_, _| {
            attempts += 1;
            false
        });
        assert_eq!((good.len(), attempts), (0, 10));
    }
}
