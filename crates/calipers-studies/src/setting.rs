//! The options of a study.

/// How a study is run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Setting {
    /// Fewer rows and repetitions: a check that the study works, whose values are not to be cited.
    pub quick: bool,
    /// The seed of all random numbers.
    pub random_state: u64,
}

impl Setting {
    /// `quick` or full, as set.
    pub fn pick<T>(&self, full: T, quick: T) -> T {
        if self.quick { quick } else { full }
    }

    /// The setting in words.
    pub(crate) fn words(&self) -> String {
        let run = self.pick("Full run", "Quick run (`--quick`): fewer rows and repetitions, not to be cited");
        format!("{run}, seed {}.", self.random_state)
    }
}
