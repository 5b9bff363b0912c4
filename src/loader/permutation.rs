//! Random permutations that take no memory.

/// Rounds of the network for a domain of at least [`FEW`] elements.
const ROUNDS: usize = 8;
/// Rounds for fewer elements: two halves of two or three elements each need more to reach all permutations equally often.
const MOST_ROUNDS: usize = 24;
/// See [`MOST_ROUNDS`].
const FEW: u64 = 1 << 10;
/// The step of SplitMix64: 2^64 divided by the golden ratio.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// A permutation of `0..n`, chosen by a 64-bit key. It takes the same memory for every `n`.
///
/// It is a generalised Feistel network with cycle walking (Black and Rogaway, "Ciphers with Arbitrary Finite Domains", CT-RSA
/// 2002, sections 3 and 5). The round functions are SplitMix64 (Steele, Lea and Flood, OOPSLA 2014), which is fast and not
/// meant to keep secrets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Permutation {
    n: u64,
    /// The sizes of the two halves of a number: `left * right >= n`.
    left: u64,
    right: u64,
    keys: [u64; MOST_ROUNDS],
    rounds: usize,
}

impl Permutation {
    /// Creates the permutation of `0..n` that belongs to `key`. `n` is at most 2^62.
    pub(crate) fn new(n: u64, key: u64) -> Self {
        let left = n.isqrt() + u64::from(n.isqrt().pow(2) < n);
        let left = left.max(1);
        let mut keys = [0; MOST_ROUNDS];
        let mut state = key;
        keys.fill_with(|| {
            state = state.wrapping_add(GOLDEN);
            mix(state)
        });
        let rounds = if n < FEW { MOST_ROUNDS } else { ROUNDS };
        Self { n, left, right: n.div_ceil(left).max(1), keys, rounds }
    }

    /// Returns the number of elements.
    pub(crate) fn len(&self) -> u64 {
        self.n
    }

    /// Returns element `k`. Each number below `n` is returned for exactly one `k` below `n`.
    pub(crate) fn at(&self, k: u64) -> u64 {
        debug_assert!(k < self.n, "element {k} of {}", self.n);
        // The network permutes `0..left * right`, which has fewer than `left` numbers beyond `n`. Following the cycle of a number
        // below `n` leads to another one below `n`.
        let mut number = k;
        loop {
            number = self.network(number);
            if number < self.n || k >= self.n {
                return number;
            }
        }
    }

    fn network(&self, number: u64) -> u64 {
        let (mut one, mut other) = (number % self.left, number / self.left);
        let mut sizes = (self.left, self.right);
        for key in self.keys.iter().take(self.rounds) {
            // The sum of two numbers below `sizes.0`.
            let sum = one + below(mix(key ^ other.wrapping_mul(GOLDEN)), sizes.0);
            (one, other) = (other, if sum >= sizes.0 { sum - sizes.0 } else { sum });
            sizes = (sizes.1, sizes.0);
        }
        one + self.left * other
    }
}

/// Returns a number that depends on all of `parts`.
pub(crate) fn hash(parts: &[u64]) -> u64 {
    parts.iter().fold(0, |state, part| mix(state.wrapping_add(GOLDEN) ^ mix(part.wrapping_add(GOLDEN))))
}

/// Maps a random number to `0..n`.
pub(crate) fn below(random: u64, n: u64) -> u64 {
    u64::try_from((u128::from(random) * u128::from(n)) >> 64).unwrap_or(0)
}

/// Maps a random number to `0.0..1.0`.
#[expect(clippy::cast_precision_loss, reason = "53 bits fit")]
pub(crate) fn fraction(random: u64) -> f64 {
    (random >> 11) as f64 / (1_u64 << 53) as f64
}

/// The output function of SplitMix64.
fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}
