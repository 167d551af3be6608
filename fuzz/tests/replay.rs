//! Every target on its seeds and regressions, without an engine, in `make test`.

use calipers_fuzz::{all, files_of};

#[test]
fn seeds_and_regressions_keep_the_properties() {
    calipers_fuzz::keep_damage_quiet();
    for target in all() {
        let files = files_of(target, &[]);
        assert!(!files.is_empty(), "{} has no seeds; run the example make_seeds", target.name);
        for file in &files {
            target.check(file);
        }
    }
}

/// Some inputs that are new, the same in each run.
#[test]
fn a_few_changes_of_seeds_keep_the_properties() {
    calipers_fuzz::keep_damage_quiet();
    for target in all() {
        let mut corpus = files_of(target, &[]);
        corpus.retain(|file| file.len() <= target.max_len);
        let mut mutation = calipers_fuzz::mutation::Mutation::new(1);
        let mut input = Vec::new();
        for _ in 0..50 {
            mutation.change(&corpus, target.max_len, &mut input);
            target.check(&input);
        }
    }
}
