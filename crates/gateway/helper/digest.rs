//! SHA-256 (FIPS 180-4) of the program itself.

use std::{fmt::Write as _, fs, io};

/// The digest of the file this runs from, in hexadecimal.
pub(crate) fn own() -> io::Result<String> {
    let mut text = String::new();
    for word in sha256(&fs::read("/proc/self/exe")?) {
        // Writing to a String cannot fail.
        let _ = write!(text, "{word:08x}");
    }
    Ok(text)
}

/// The first primes, from which both tables of constants follow.
fn primes() -> [u64; 64] {
    let (mut primes, mut count, mut candidate) = ([0; 64], 0, 2);
    while count < 64 {
        if primes[..count].iter().all(|prime| candidate % prime != 0) {
            primes[count] = candidate;
            count += 1;
        }
        candidate += 1;
    }
    primes
}

/// The first 32 bits behind the point of the root, exactly: the largest number whose power does not exceed.
fn root_bits(number: u64, power: u32) -> u32 {
    let (mut low, mut high) = (0_u128, 1_u128 << 37);
    let target = u128::from(number) << (32 * power);
    while high - low > 1 {
        let middle = u128::midpoint(low, high);
        if middle.pow(power) <= target { low = middle } else { high = middle }
    }
    (low & 0xffff_ffff) as u32
}

fn sha256(data: &[u8]) -> [u32; 8] {
    let primes = primes();
    let constants = primes.map(|prime| root_bits(prime, 3));
    let mut state: [u32; 8] = std::array::from_fn(|index| root_bits(primes[index], 2));
    let mut padded = data.to_vec();
    padded.push(0x80);
    while padded.len() % 64 != 56 {
        padded.push(0);
    }
    padded.extend((data.len() as u64 * 8).to_be_bytes());
    for block in padded.chunks_exact(64) {
        round(&mut state, block, &constants);
    }
    state
}

fn round(state: &mut [u32; 8], block: &[u8], constants: &[u32; 64]) {
    let mut words = [0_u32; 64];
    for (word, bytes) in words.iter_mut().zip(block.chunks_exact(4)) {
        *word = u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
    }
    for index in 16..64 {
        let (before, last) = (words[index - 15], words[index - 2]);
        let small = before.rotate_right(7) ^ before.rotate_right(18) ^ before >> 3;
        let large = last.rotate_right(17) ^ last.rotate_right(19) ^ last >> 10;
        words[index] =
            words[index - 16].wrapping_add(small).wrapping_add(words[index - 7]).wrapping_add(large);
    }
    let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = *state;
    for (word, constant) in words.iter().zip(constants) {
        let mixed = e.rotate_right(6) ^ e.rotate_right(11) ^ e.rotate_right(25);
        let choice = e & f ^ !e & g;
        let first = h.wrapping_add(mixed).wrapping_add(choice).wrapping_add(*constant).wrapping_add(*word);
        let turned = a.rotate_right(2) ^ a.rotate_right(13) ^ a.rotate_right(22);
        let second = turned.wrapping_add(a & b ^ a & c ^ b & c);
        (h, g, f, e, d, c, b, a) = (g, f, e, d.wrapping_add(first), c, b, a, first.wrapping_add(second));
    }
    for (old, new) in state.iter_mut().zip([a, b, c, d, e, f, g, h]) {
        *old = old.wrapping_add(new);
    }
}
