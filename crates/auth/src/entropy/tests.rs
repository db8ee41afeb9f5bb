//! The same seed gives the same bytes, and no two draws are alike.

use super::Entropy;

#[test]
fn bytes_depend_on_the_seed_and_never_repeat() {
    let mut one = Entropy::new([1; 32]);
    let mut same = Entropy::new([1; 32]);
    let mut other = Entropy::new([2; 32]);
    let first: [u8; 18] = one.bytes();
    assert_eq!(first, same.bytes());
    assert_ne!(first, one.bytes());
    assert_ne!(first, other.bytes());
}
