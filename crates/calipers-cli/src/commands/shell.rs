//! `calipers completions` and `calipers man`, from the same text as `--help`.

use anyhow::{Result, anyhow, bail};
use clap::{Args, CommandFactory};
use clap_complete::Shell;
use clap_mangen::Man;

use crate::args::Arguments;

/// Print a script with which a shell completes verbs, options and their values
///
/// Save the script where the shell looks for completions, as in the examples, and start a new
/// shell.
#[derive(Debug, Args)]
#[command(after_help = include_str!("help/completions.txt"))]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

/// Print a manual page for man: of the command, or of one verb
///
/// The page has the same text as --help.
#[derive(Debug, Args)]
#[command(after_help = include_str!("help/man.txt"))]
pub(crate) struct ManArgs {
    /// The verb [default: the command itself]
    #[arg(value_name = "VERB")]
    verb: Option<String>,
}

pub(crate) fn completions(args: &CompletionsArgs) -> Result<String> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Arguments::command(), "calipers", &mut script);
    text(script)
}

pub(crate) fn man(args: &ManArgs) -> Result<String> {
    let mut command = Arguments::command();
    // Verbs take over what is common to all.
    command.build();
    let command = match &args.verb {
        None => command,
        Some(verb) => {
            let verbs = || command.get_subcommands().map(clap::Command::get_name).filter(|name| *name != "help");
            let Some(found) = command.find_subcommand(verb) else {
                bail!("no verb is called {verb}; the verbs are {}", verbs().collect::<Vec<_>>().join(", "));
            };
            found.clone()
        }
    };
    let mut page = Vec::new();
    Man::new(command).render(&mut page)?;
    text(page)
}

fn text(bytes: Vec<u8>) -> Result<String> {
    String::from_utf8(bytes).map_err(|_| anyhow!("help must be UTF-8"))
}
