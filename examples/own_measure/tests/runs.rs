//! The example runs, and prints what it promises.

use std::process::Command;

#[test]
fn it_prints_an_assessment_a_comparison_groups_and_json() {
    let output = Command::new(env!("CARGO_BIN_EXE_own-measure")).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    for part in
        ["so this model is miscalibrated", "In clusters: ", "is better calibrated than", "\"outcomes_per_hundred\""]
    {
        assert!(text.contains(part), "{part} is not in {text}");
    }
}
