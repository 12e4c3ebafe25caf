//! Sorting by one piece of code for all types.

use std::cmp::Ordering;

/// Sorts stably, like [`slice::sort_by`]. That makes some 5 kB of machine code for each type of item; this makes a few
/// hundred bytes, because only numbers are sorted and the items then follow. For what runs on hosts, where the binary's
/// size counts and lists are short.
pub fn sort_by<T>(items: &mut [T], mut compare: impl FnMut(&T, &T) -> Ordering) {
    let mut wanted = places(items.len(), &mut |one, other| compare(&items[one], &items[other]));
    // Each cycle of the permutation is walked once. `wanted[place]` is where the item for `place` stands.
    for start in 0..wanted.len() {
        let mut place = start;
        loop {
            let from = wanted[place];
            wanted[place] = place;
            if from == start {
                break;
            }
            items.swap(place, from);
            place = from;
        }
    }
}

/// Sorts stably, like [`slice::sort`].
pub fn sort<T: Ord>(items: &mut [T]) {
    sort_by(items, T::cmp);
}

/// Sorts stably by a key, like [`slice::sort_by_key`].
pub fn sort_by_key<T, K: Ord>(items: &mut [T], mut key: impl FnMut(&T) -> K) {
    sort_by(items, |one, other| key(one).cmp(&key(other)));
}

/// Where, in order, the items stand.
fn places(count: usize, compare: &mut dyn FnMut(usize, usize) -> Ordering) -> Vec<usize> {
    let mut places: Vec<usize> = (0..count).collect();
    places.sort_by(|one, other| compare(*one, *other));
    places
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_sorts_as_the_standard_library_does(items in prop::collection::vec((0_u8..8, any::<u16>()), 0..200)) {
            let mut wanted = items.clone();
            wanted.sort_by_key(|item| item.0);
            let mut sorted = items;
            sort_by_key(&mut sorted, |item| item.0);
            prop_assert_eq!(sorted, wanted, "also equal ones keep their order");
        }
    }
}
