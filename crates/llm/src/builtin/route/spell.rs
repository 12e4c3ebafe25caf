//! Finds the known word that a mistyped one stands for.

use super::text::letters;

/// Neighbours on a QWERTY keyboard.
const ROWS: [&str; 3] = ["qwertyuiop", "asdfghjkl", "zxcvbnm"];

/// Costs are in halves: a slip to a neighbouring key, a doubled or a lost letter of a pair costs less than any letter.
const FULL: u32 = 2;
const SLIP: u32 = 1;

/// The cost up to which `length` letters are taken as a slip.
fn allowance(length: usize) -> u32 {
    match length {
        0..=3 => 0,
        4..=7 => FULL,
        _ => 2 * FULL,
    }
}

/// Finds the cheapest of `known` within the allowance. Of two words at the same cost, the one of the same length
/// wins, then the first.
pub(super) fn closest<'a>(word: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let typed: Vec<u32> = word.chars().map(u32::from).collect();
    let allowed = allowance(typed.len());
    if allowed == 0 {
        return None;
    }
    let mut best: Option<((u32, usize), &str)> = None;
    for candidate in known {
        let wanted: Vec<u32> = candidate.chars().map(u32::from).collect();
        // A three-letter word is near too many others.
        if wanted.len() < 4 && typed.len() > wanted.len() || wanted.len() < 3 {
            continue;
        }
        let gap = typed.len().abs_diff(wanted.len());
        if gap > (allowed / FULL) as usize || !starts_alike(&typed, &wanted) {
            continue;
        }
        let cost = distance(&typed, &wanted, allowed);
        // Four letters have many neighbours: there only a swap, a doubled or a neighbouring key counts.
        let lost_one = typed.len() == 4 && wanted.len() == 5;
        let limit = if typed.len().min(wanted.len()) <= 4 && !lost_one {
            SLIP
        } else {
            allowed.min(allowance(wanted.len()))
        };
        if cost <= limit && best.is_none_or(|(rank, _)| (cost, gap) < rank) {
            best = Some(((cost, gap), candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// Finds the closest of `known` Korean words by their letters, with its distance.
pub(super) fn closest_korean<'a>(word: &str, known: impl Iterator<Item = &'a str>) -> Option<(u32, &'a str)> {
    let typed = letters(word);
    if typed.len() < 5 {
        return None;
    }
    let allowed = if typed.len() >= 9 { 2 * FULL } else { FULL };
    let mut best: Option<(u32, &str)> = None;
    for candidate in known {
        let wanted = letters(candidate);
        if wanted.len() < 5 || typed.len().abs_diff(wanted.len()) > (allowed / FULL) as usize {
            continue;
        }
        let limit = if wanted.len() >= 9 { allowed } else { FULL };
        let cost = distance(&typed, &wanted, limit);
        if cost <= limit && best.is_none_or(|(least, _)| cost < least) {
            best = Some((cost, candidate));
        }
    }
    best
}

/// People rarely miss the first letter; when they do, it is swapped, doubled or a neighbouring key of a long word.
fn starts_alike(typed: &[u32], wanted: &[u32]) -> bool {
    let (Some(first), Some(right)) = (typed.first(), wanted.first()) else { return false };
    first == right
        || (typed.get(1) == Some(right) && wanted.get(1) == Some(first))
        || (typed.len() >= 6
            && (neighbours(*first, *right) || typed.get(1) == Some(right) || wanted.get(1) == Some(first)))
}

/// Damerau–Levenshtein distance (adjacent swaps), in halves. Gives up above `limit`.
fn distance(typed: &[u32], wanted: &[u32], limit: u32) -> u32 {
    #[cfg(test)]
    tests::count_comparison();
    let width = wanted.len() + 1;
    let mut before_last: Vec<u32> = vec![0; width];
    let mut last: Vec<u32> = (0..width as u32).map(|column| column * FULL).collect();
    for (row, letter) in typed.iter().enumerate() {
        let mut current = vec![(row as u32 + 1) * FULL; width];
        let mut least = current[0];
        for (column, right) in wanted.iter().enumerate() {
            let replaced = last[column] + replace_cost(*letter, *right);
            let extra = last[column + 1] + if row > 0 && typed[row - 1] == *letter { SLIP } else { FULL };
            let lost = current[column] + if column > 0 && wanted[column - 1] == *right { SLIP } else { FULL };
            let mut cost = replaced.min(extra).min(lost);
            if row > 0
                && column > 0
                && typed[row - 1] == *right
                && *letter == wanted[column - 1]
                && letter != right
            {
                cost = cost.min(before_last[column - 1] + SLIP);
            }
            current[column + 1] = cost;
            least = least.min(cost);
        }
        if least > limit {
            return u32::MAX;
        }
        before_last = std::mem::replace(&mut last, current);
    }
    last[width - 1]
}

/// What it costs to type one letter for another.
fn replace_cost(typed: u32, wanted: u32) -> u32 {
    if typed == wanted {
        0
    } else if neighbours(typed, wanted) {
        SLIP
    } else {
        FULL
    }
}

/// Whether two keys are beside each other, in one row or the next.
fn neighbours(one: u32, other: u32) -> bool {
    let place = |code: u32| {
        let letter = char::from_u32(code)?;
        ROWS.iter().enumerate().find_map(|(row, keys)| keys.find(letter).map(|column| (row, column)))
    };
    match (place(one), place(other)) {
        (Some((row, column)), Some((other_row, other_column))) => {
            row.abs_diff(other_row) <= 1
                && match row.cmp(&other_row) {
                    std::cmp::Ordering::Equal => column.abs_diff(other_column) == 1,
                    std::cmp::Ordering::Less => column == other_column || column == other_column + 1,
                    std::cmp::Ordering::Greater => other_column == column || other_column == column + 1,
                }
        }
        _ => false,
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use std::cell::Cell;

    thread_local! {
        static COMPARISONS: Cell<u64> = const { Cell::new(0) };
    }

    pub(super) fn count_comparison() {
        COMPARISONS.with(|count| count.set(count.get() + 1));
    }

    /// How many words were compared with known ones since the last time on this thread.
    pub(in super::super) fn comparisons() -> u64 {
        COMPARISONS.with(|count| count.replace(0))
    }

    const KNOWN: [&str; 9] =
        ["restart", "memory", "journal", "nginx", "processes", "port", "status", "logs", "postgresql"];

    #[test]
    fn common_slips_find_their_word() {
        for (typed, wanted) in [
            ("resatrt", "restart"),
            ("memroy", "memory"),
            ("memmory", "memory"),
            ("jounral", "journal"),
            ("ngnix", "nginx"),
            ("proceses", "processes"),
            ("prot", "port"),
            ("staus", "status"),
            ("lgos", "logs"),
            ("postgersql", "postgresql"),
        ] {
            assert_eq!(closest(typed, KNOWN.into_iter()), Some(wanted), "{typed}");
        }
    }

    #[test]
    fn other_words_stay_what_they_are() {
        for typed in ["post", "memo", "journey", "reset", "cat", "banana", "host"] {
            assert_eq!(closest(typed, KNOWN.into_iter()), None, "{typed}");
        }
    }

    #[test]
    fn korean_slips_are_counted_in_letters() {
        assert_eq!(
            closest_korean("메머리", ["메모리", "프로세스"].into_iter()).map(|(_, word)| word),
            Some("메모리")
        );
        assert_eq!(
            closest_korean("프로새스", ["메모리", "프로세스"].into_iter()).map(|(_, word)| word),
            Some("프로세스")
        );
        assert_eq!(closest_korean("바나나", ["메모리", "프로세스"].into_iter()), None);
    }
}
