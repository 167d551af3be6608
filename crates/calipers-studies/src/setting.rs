//! What can be set about a study.

/// How a study is run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Setting {
    /// Fewer rows and repetitions: to see that it works, not to believe the figures.
    pub quick: bool,
    /// Where all random numbers start.
    pub random_state: u64,
}

impl Setting {
    /// `quick` or full, as set.
    pub fn pick<T>(&self, full: T, quick: T) -> T {
        if self.quick { quick } else { full }
    }

    /// How the page says it.
    pub(crate) fn words(&self) -> String {
        let run = self.pick("Full run", "Quick run (`--quick`): fewer rows and repetitions, not to be quoted");
        format!("{run}, seed {}.", self.random_state)
    }
}
