//! Bytes of an engine -> numbers and choices, for targets that make their own structure.

/// Reads values from bytes; when there are none left, zeros.
pub(crate) struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Bytes(bytes)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn array<const N: usize>(&mut self) -> [u8; N] {
        let mut array = [0; N];
        let (some, rest) = self.0.split_at(self.0.len().min(N));
        array[..some.len()].copy_from_slice(some);
        self.0 = rest;
        array
    }

    pub(crate) fn byte(&mut self) -> u8 {
        let [byte] = self.array();
        byte
    }

    pub(crate) fn below(&mut self, end: u8) -> u8 {
        self.byte() % end
    }

    #[cfg(feature = "command")]
    pub(crate) fn choose<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[usize::from(self.byte()) % choices.len()]
    }

    pub(crate) fn double(&mut self) -> f64 {
        f64::from_le_bytes(self.array())
    }

    #[cfg(feature = "command")]
    pub(crate) fn take(&mut self, n_bytes: usize) -> &'a [u8] {
        let (some, rest) = self.0.split_at(self.0.len().min(n_bytes));
        self.0 = rest;
        some
    }

    #[cfg(feature = "command")]
    pub(crate) fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.0)
    }
}
