//! The order in which CPython iterates a set of integers.
//!
//! L5Kit collects the track ids of other agents in a Python `set` and turns it into a list. The order of that list depends on the ids, on
//! the order of the insertions and on how CPython (3.7 and later, `Objects/setobject.c`) lays out its hash table. [`SetOrder`] has the
//! same layout: a power of two of slots, ten neighbours tried before a jump, and growth to more than four times the members as soon as
//! three fifths of the slots are taken.

/// The number of slots of an empty set.
const SMALLEST: usize = 8;
/// The number of slots tried after the first one, before a jump.
const NEIGHBOURS: usize = 9;
/// The bits of the hash that each jump uses up.
const SHIFT: u32 = 5;
/// From this many members on, a set grows to twice its members only.
const LARGE: usize = 50_000;

/// A set of track ids that iterates like a Python `set` of the same integers, without removals.
///
/// ```
/// use tetrys_l5::vectorized::SetOrder;
///
/// let mut set = SetOrder::default();
/// for id in [9, 3, 17, 3] {
///     set.insert(id);
/// }
/// assert_eq!(set.iter().collect::<Vec<_>>(), [9, 3, 17]); // list({9, 3, 17})
/// ```
#[derive(Clone, Debug)]
pub struct SetOrder {
    slots: Vec<Option<u64>>,
    len: usize,
}

impl Default for SetOrder {
    fn default() -> Self {
        Self { slots: vec![None; SMALLEST], len: 0 }
    }
}

impl SetOrder {
    /// Returns the number of members.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no members.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Removes all members and goes back to the smallest table.
    pub fn clear(&mut self) {
        self.slots.clear();
        self.slots.resize(SMALLEST, None);
        self.len = 0;
    }

    /// Adds a member. Returns whether it is new.
    pub fn insert(&mut self, member: u64) -> bool {
        let slot = self.slot_of(member);
        if self.slots[slot].is_some() {
            return false;
        }
        self.slots[slot] = Some(member);
        self.len += 1;
        if self.len * 5 >= (self.slots.len() - 1) * 3 {
            self.grow();
        }
        true
    }

    /// Returns the members in the order of Python's iteration.
    pub fn iter(&self) -> impl Iterator<Item = u64> + '_ {
        self.slots.iter().flatten().copied()
    }

    /// Returns the slot that holds a member, or the free slot where it belongs.
    fn slot_of(&self, member: u64) -> usize {
        let mask = self.slots.len() - 1;
        let mut perturb = hash(member);
        let mut slot = perturb as usize & mask;
        loop {
            let last = if slot + NEIGHBOURS <= mask { slot + NEIGHBOURS } else { slot };
            for near in slot..=last {
                if self.slots[near].is_none_or(|other| other == member) {
                    return near;
                }
            }
            // At least two fifths of the slots are free, and the jumps reach each slot once `perturb` is used up.
            perturb >>= SHIFT;
            slot = slot.wrapping_mul(5).wrapping_add(1).wrapping_add(perturb as usize) & mask;
        }
    }

    fn grow(&mut self) {
        let wanted = if self.len > LARGE { self.len * 2 } else { self.len * 4 };
        let slots = (wanted + 1).next_power_of_two().max(SMALLEST);
        let old = std::mem::replace(&mut self.slots, vec![None; slots]);
        for member in old.into_iter().flatten() {
            let slot = self.slot_of(member);
            self.slots[slot] = Some(member);
        }
    }
}

/// Python's hash of a non-negative integer: the remainder of the division by a Mersenne prime.
fn hash(value: u64) -> u64 {
    value % ((1 << 61) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(members: impl IntoIterator<Item = u64>) -> Vec<u64> {
        let mut set = SetOrder::default();
        for member in members {
            set.insert(member);
        }
        set.iter().collect()
    }

    #[test]
    fn small_sets_have_the_order_of_cpython() {
        // Each expected list was printed by CPython 3.11.
        assert_eq!(order([9, 3, 17, 3]), [9, 3, 17]);
        assert_eq!(order([8, 16, 24, 32, 0]), [32, 0, 8, 16, 24]);
        assert_eq!(order([1653, 812, 44, 3, 99, 1000, 7, 15, 23]), [99, 3, 7, 1000, 812, 44, 15, 1653, 23]);
        assert_eq!(order([2305843009213693951, 0, 1, 2305843009213693952]), [2305843009213693951, 0, 1, 2305843009213693952]);
        assert_eq!(
            order([18446744073709551615, 9223372036854775808, 5, 4611686018427387907]),
            [4611686018427387907, 9223372036854775808, 5, 18446744073709551615]
        );
        assert_eq!(
            order([
                1276, 524, 1520, 735, 1629, 1415, 1516, 1336, 1086, 60, 954, 1590, 511, 1330, 107, 322, 232, 762, 961, 505, 780,
                1114, 209, 1176, 27, 1498, 444, 836, 573, 373
            ]),
            [
                1415, 524, 780, 1176, 27, 1330, 1590, 1336, 954, 60, 444, 1086, 573, 961, 322, 836, 209, 1114, 1498, 1629, 735,
                232, 107, 1516, 1520, 373, 505, 762, 1276, 511
            ]
        );
    }

    #[test]
    fn many_members_have_the_order_of_cpython() {
        // FNV-1a over the list that CPython 3.11 gives for the first members of the generator below.
        for (len, step, expected) in [
            (100, 0x9e3779b97f4a7c15, 0xd199f5e7084fe44e),
            (1000, 0x9e3779b97f4a7c15, 0x152dcba6a547951f),
            (30000, 0xd1342543de82ef95, 0xc47559614e75aa4),
            (120000, 0xd1342543de82ef95, 0xc4406d2ec6d0c7fc),
        ] {
            let found = order((1..=len).map(|at: u64| at.wrapping_mul(step) >> 40));
            let hash = found.iter().fold(0xcbf2_9ce4_8422_2325, |hash: u64, id| (hash ^ id).wrapping_mul(0x100_0000_01b3));
            assert_eq!(hash, expected, "{len} members with step {step}");
        }
    }

    #[test]
    fn a_cleared_set_is_a_new_set() {
        let mut set = SetOrder::default();
        (0..100).for_each(|member| assert!(set.insert(member)));
        assert!(!set.insert(7));
        set.clear();
        assert!(set.is_empty());
        set.insert(9);
        set.insert(1);
        assert_eq!(set.iter().collect::<Vec<_>>(), order([9, 1]));
    }
}
