//! Keeps the greatest of many, in bounded memory.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The `most` greatest items that were offered.
#[derive(Debug)]
pub(crate) struct Top<T> {
    most: usize,
    heap: BinaryHeap<Reverse<T>>,
    /// How many were offered.
    pub(crate) offered: u64,
}

impl<T: Ord> Top<T> {
    pub(crate) fn new(most: usize) -> Self {
        Self { most, heap: BinaryHeap::new(), offered: 0 }
    }

    /// Offers an item.
    pub(crate) fn offer(&mut self, item: T) {
        self.offered += 1;
        self.heap.push(Reverse(item));
        if self.heap.len() > self.most {
            self.heap.pop();
        }
    }

    /// The items, the greatest first.
    pub(crate) fn into_sorted(self) -> Vec<T> {
        self.heap.into_sorted_vec().into_iter().map(|Reverse(item)| item).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_keeps_what_sorting_all_would_put_in_front(mut items in prop::collection::vec(0..100u32, 0..50), most in 0..10usize) {
            let mut top = Top::new(most);
            items.iter().for_each(|item| top.offer(*item));
            items.sort_unstable_by(|one, other| other.cmp(one));
            items.truncate(most);
            prop_assert_eq!(top.into_sorted(), items);
        }
    }
}
