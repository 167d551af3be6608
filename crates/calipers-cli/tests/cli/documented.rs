//! docs/cli.md has the help of every verb, as the program prints it.
//!
//! `CALIPERS_UPDATE=1 cargo test -p calipers-cli documented` writes it anew.

use std::path::Path;

use crate::support::{Folder, Run, calipers, succeed};

/// The verbs, as `calipers --help` lists them.
fn verbs() -> Vec<String> {
    listed(&[])
}

/// The verbs, and the steps of those that have some.
fn verbs_and_steps() -> Vec<String> {
    let steps = |verb: &String| match succeed(&[verb, "--help"]).contains("\nCommands:\n") {
        true => listed(&[verb]).iter().map(|step| format!("{verb} {step}")).collect(),
        false => Vec::new(),
    };
    verbs().into_iter().flat_map(|verb| [vec![verb.clone()], steps(&verb)].concat()).collect()
}

fn help_of(verb: &str) -> String {
    succeed(&verb.split(' ').chain(["--help"]).collect::<Vec<&str>>())
}

/// What a help lists as commands.
fn listed(of: &[&str]) -> Vec<String> {
    let help = succeed(&[of, &["--help"]].concat());
    let list = help.split("Commands:\n").nth(1).unwrap().split("\n\n").next().unwrap();
    // What goes on in a further line is indented further.
    let lines = list.lines().filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    lines.map(|line| line.split_whitespace().next().unwrap().to_owned()).filter(|verb| verb != "help").collect()
}

#[test]
fn the_help_of_every_verb_is_on_its_page() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/cli.md");
    let mut page = std::fs::read_to_string(&path).unwrap();
    let verbs = verbs_and_steps();
    assert!(verbs.len() >= 16, "{verbs:?}");
    let mut stale = Vec::new();
    for verb in &verbs {
        let level = if verb.contains(' ') { "###" } else { "##" };
        assert!(page.contains(&format!("\n{level} {verb}\n")), "docs/cli.md has no section on {verb}");
        let start = format!("```console\n$ calipers {verb} --help\n");
        let after = page.split_once(&start).unwrap_or_else(|| panic!("docs/cli.md has no help of {verb}")).1;
        let documented = after.split_once("```\n").unwrap().0;
        let help = tidy(&help_of(verb));
        if documented != help {
            stale.push(verb.clone());
            page = page.replacen(&format!("{start}{documented}"), &format!("{start}{help}"), 1);
        }
    }
    if std::env::var_os("CALIPERS_UPDATE").is_some() {
        std::fs::write(&path, page).unwrap();
    } else {
        assert!(stale.is_empty(), "the help of {stale:?} has changed: CALIPERS_UPDATE=1 writes docs/cli.md anew");
    }
}

/// Without spaces at the ends of lines, which clap leaves where an option's text has two
/// paragraphs.
fn tidy(help: &str) -> String {
    help.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

#[test]
fn every_help_has_an_example() {
    for verb in verbs_and_steps() {
        let help = help_of(&verb);
        assert!(help.contains("\nExample") && help.contains(&format!("\n  calipers {verb}")), "{verb}: {help}");
        assert!(help.lines().all(|line| line.chars().count() <= 100), "{verb}: {help}");
    }
}

#[test]
fn examples_in_help_print_what_help_shows() {
    let folder = Folder::new();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let place = format!("{}/", folder.path("").display()).replace("//", "/");
    let mut n_run = 0;
    for verb in verbs_and_steps() {
        let help = tidy(&help_of(&verb)).replace("/tmp/", &place);
        let Some((_, rest)) = help.split_once("\nExample:\n  $ calipers ") else { continue };
        let example = rest.split("\n\n").next().unwrap();
        let (line, expected) = example.split_once('\n').unwrap();
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_calipers"));
        let output = command.args(line.split(' ')).current_dir(&root).output().unwrap();
        let printed = String::from_utf8(output.stdout).unwrap();
        let printed: Vec<&str> = printed.lines().map(str::trim_end).collect();
        let expected: Vec<&str> = expected.lines().map(str::trim_start).collect();
        assert!(fits(&expected, &printed), "{verb}: {expected:#?} {printed:#?}");
        n_run += 1;
    }
    assert!(n_run >= 9, "{n_run}");
}

/// Whether lines are as expected: `...` alone stands for any lines, and at the end of a line for
/// its rest.
fn fits(expected: &[&str], printed: &[&str]) -> bool {
    match (expected, printed) {
        ([], []) => true,
        (["...", rest @ ..], _) => (0..=printed.len()).any(|n| fits(rest, &printed[n..])),
        ([first, rest @ ..], [line, others @ ..]) => {
            let is_line = match first.strip_suffix(" ...") {
                Some(start) => line.starts_with(start),
                None => line == first,
            };
            is_line && fits(rest, others)
        }
        _ => false,
    }
}

#[test]
fn shells_and_man_know_every_verb() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = succeed(&["completions", shell]);
        for verb in verbs() {
            assert!(script.contains(&verb), "{shell} {verb}");
        }
        assert!(script.contains("smallest-sigma"), "{shell}");
    }
    let page = succeed(&["man"]);
    assert!(page.contains(".TH calipers") && page.contains("calipers\\-measure"), "{page}");
    for verb in verbs() {
        let page = succeed(&["man", &verb]);
        assert!(page.contains(&format!(".TH calipers-{verb}")) && page.contains("Example"), "{page}");
    }
    let Run { code, stderr, .. } = calipers(&["man", "weigh"]);
    assert!(
        code == Some(2) && stderr.starts_with("calipers: no verb is called weigh; the verbs are measure, "),
        "{stderr}"
    );
}
