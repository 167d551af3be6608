//! SHA-256, by which the page's policy knows its own script (FIPS 180-4).

/// The digest in base 64.
pub(super) fn sha256_base64(message: &[u8]) -> String {
    base64(&sha256(message))
}

/// The first 32 bits after the point of the roots of the first primes: the constants of the standard, computed by its definition.
fn of_roots(n: usize, root: fn(f64) -> f64) -> Vec<u32> {
    let is_prime = |n: &u32| (2..*n).all(|divisor| !n.is_multiple_of(divisor));
    (2..).filter(is_prime).take(n).map(|prime| (root(f64::from(prime)).fract() * 4_294_967_296.0) as u32).collect()
}

fn sha256(message: &[u8]) -> [u8; 32] {
    let mut state: Vec<u32> = of_roots(8, f64::sqrt);
    let constants = of_roots(64, f64::cbrt);
    let mut padded = message.to_vec();
    padded.push(0x80);
    padded.resize((padded.len() + 8).div_ceil(64) * 64 - 8, 0);
    padded.extend((8 * message.len() as u64).to_be_bytes());
    for block in padded.chunks_exact(64) {
        let mut words: Vec<u32> =
            block.chunks_exact(4).map(|word| u32::from_be_bytes([word[0], word[1], word[2], word[3]])).collect();
        for place in 16..64 {
            let (early, late) = (words[place - 15], words[place - 2]);
            let small = early.rotate_right(7) ^ early.rotate_right(18) ^ (early >> 3);
            let large = late.rotate_right(17) ^ late.rotate_right(19) ^ (late >> 10);
            words.push(words[place - 16].wrapping_add(small).wrapping_add(words[place - 7]).wrapping_add(large));
        }
        let mut v: [u32; 8] = std::array::from_fn(|place| state[place]);
        for (word, constant) in words.iter().zip(&constants) {
            let sum = v[4].rotate_right(6) ^ v[4].rotate_right(11) ^ v[4].rotate_right(25);
            let choice = (v[4] & v[5]) ^ (!v[4] & v[6]);
            let first = v[7].wrapping_add(sum).wrapping_add(choice).wrapping_add(*constant).wrapping_add(*word);
            let sum = v[0].rotate_right(2) ^ v[0].rotate_right(13) ^ v[0].rotate_right(22);
            let majority = (v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]);
            v = [
                first.wrapping_add(sum).wrapping_add(majority),
                v[0],
                v[1],
                v[2],
                v[3].wrapping_add(first),
                v[4],
                v[5],
                v[6],
            ];
        }
        state.iter_mut().zip(v).for_each(|(sum, value)| *sum = sum.wrapping_add(value));
    }
    let mut digest = [0; 32];
    digest.chunks_exact_mut(4).zip(state).for_each(|(bytes, word)| bytes.copy_from_slice(&word.to_be_bytes()));
    digest
}

fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for three in bytes.chunks(3) {
        let bits =
            three.iter().enumerate().fold(0u32, |bits, (place, byte)| bits | u32::from(*byte) << (16 - 8 * place));
        for letter in 0..4 {
            match letter <= three.len() {
                true => text.push(char::from(LETTERS[(bits >> (18 - 6 * letter) & 63) as usize])),
                false => text.push('='),
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_are_those_of_the_standard() {
        let hex = |message: &[u8]| sha256(message).iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        assert_eq!(hex(b"abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        assert_eq!(hex(b""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
        let long = b"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
        assert_eq!(hex(long), "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
        assert_eq!([&b"f"[..], b"fo", b"foo", b"foobar"].map(base64), ["Zg==", "Zm8=", "Zm9v", "Zm9vYmFy"]);
    }
}
