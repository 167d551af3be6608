//! `calipers study`: the paper's experiments, and calipers' own, as pages with charts and tables.

mod atlas;
mod groups;
mod parts;

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use calipers_studies::images::{self, Group, Model};
use calipers_studies::{Agreement, Finding, Page, STUDIES, Setting, Study, recalibration};
use clap::{ArgMatches, Args};
use serde_json::{Value, json};

use crate::args::significance::RandomStateArgs;
use crate::args::{self, InputArgs, OutputArgs};
use crate::commands::compare::paired;
use crate::dataset::batch::Batch;
use crate::dataset::files::{self, InputFile};
use crate::dataset::{Dataset, Reader, WholeFiles};
use crate::output::OutputFolder;
use crate::render::grid::Grid;
use crate::render::json;
use crate::render::screen::Screen;
use groups::grouped;

/// Run an experiment: a page of text, charts and tables in a folder
///
/// Use it to reproduce the paper's experiments and those of calipers, or to run the paper's image
/// experiment on your own models. A study writes NAME.md with its charts (SVG) and tables (CSV),
/// and prints its findings: whether it confirms a claim of the paper. The same --random-state gives
/// the same files.
#[derive(Debug, Args)]
#[command(
    mut_arg("files", |files| files.required(false).value_name("GROUP=FILE").help(FILES).display_order(1)),
    mut_arg("by", |by| by.hide(true)),
    after_help = after_help()
)]
pub(crate) struct StudyArgs {
    /// The study; without a name, or with `list`, all studies are listed
    #[arg(value_name = "NAME", help_heading = "Arguments", display_order = 0)]
    name: Option<String>,

    /// Folder for the page. It is created if needed; in an existing folder, files of the same names
    /// are replaced and all others are kept
    #[arg(short, long, alias = "output", value_name = "DIR", help_heading = "Study")]
    out: Option<PathBuf>,

    /// Fewer rows and repetitions: to try the study, not to rely on its values
    #[arg(long, help_heading = "Study")]
    quick: bool,

    /// For atlas: a CSV file that tells about files by their name, for folders without a
    /// manifest.csv of their own. It has a column file, and any of domain, data_set, model, split,
    /// rows (the same text for files of the same rows), cluster (a column of the file) and caution
    #[arg(long, value_name = "FILE", help_heading = "Study")]
    manifest: Vec<PathBuf>,

    #[command(flatten, next_help_heading = "Study")]
    random_state: RandomStateArgs,

    #[command(flatten)]
    input: InputArgs,
    #[command(flatten)]
    output: OutputArgs,
}

const FILES: &str = "For images: predictions of one model, and the group that it belongs to, such as a data set [default group: models]. Patterns such as cifar10='runs/*.npz' are expanded. For recalibration: a folder with files NAME_val and NAME_test of each model. For atlas: folders of predictions with a manifest.csv";

/// Name and description of every study, with the arguments that it takes.
fn studies() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    let plain = STUDIES.iter().map(|study| (study.name, study.about, ""));
    plain.chain([
        (images::NAME, images::ABOUT, " GROUP=FILE..."),
        (recalibration::NAME, recalibration::ABOUT, " [FOLDER]"),
        (calipers_studies::atlas::NAME, calipers_studies::atlas::ABOUT, " FOLDER..."),
    ])
}

fn after_help() -> String {
    let studies = studies().map(|(name, about, files)| format!("  {name}{files}\n      {about}\n"));
    format!(include_str!("../help/study.txt"), studies.collect::<String>())
}

pub(crate) fn run(args: &StudyArgs, matches: &ArgMatches, screen: &Screen) -> Result<String> {
    let name = match args.name.as_deref() {
        None | Some("list") => {
            reject_input::<StudyArgs>(args, matches, "the list of studies needs no data")?;
            return Ok(listing(args.output.json, screen));
        }
        Some(name) => name,
    };
    let study = Study::named(name);
    if !studies().any(|(known, _, _)| known == name) {
        let names: Vec<&str> = studies().map(|(name, _, _)| name).collect();
        bail!("no study is called {name}: there are {}", names.join(", "));
    }
    if let (Some(manifest), true) = (args.manifest.first(), name != calipers_studies::atlas::NAME) {
        bail!("--manifest is for atlas, and {name} has no use for {}", manifest.display());
    }
    let Some(out) = &args.out else { bail!("--out DIR is needed: the folder for the page of {name}") };
    let setting = Setting { quick: args.quick, random_state: args.random_state.random_state };
    match study {
        Some(study) => {
            reject_input::<InputArgs>(args, matches, &format!("{name} makes its own data"))?;
            args.output.start_threads()?;
            let folder = output_folder(out, name, &[])?;
            finish(&study.run(&setting)?, &folder, &[], args)
        }
        None if name == images::NAME => images(args, out, &setting),
        None if name == calipers_studies::atlas::NAME => {
            args.output.start_threads()?;
            let found = atlas::find(&args.input, &args.manifest)?;
            let inputs = found.inputs();
            let folder = output_folder(out, name, &inputs)?;
            finish(&found.run(&args.input, out, &setting)?, &folder, &inputs, args)
        }
        None => {
            args.output.start_threads()?;
            let parts = parts::files(&args.input)?;
            let inputs = parts.inputs.clone();
            let folder = output_folder(out, name, &inputs)?;
            let mut reader = WHOLE_FILES.reader(&args.input, None)?;
            finish(&parts::run(parts, &mut reader, &setting)?, &folder, &inputs, args)
        }
    }
}

fn listing(as_json: bool, screen: &Screen) -> String {
    if !as_json {
        let mut table = Grid::default();
        table.names("study", studies().map(|(name, _, files)| format!("{name}{files}")));
        table.notes("what it shows", studies().map(|(_, about, _)| about));
        return format!("Studies, for `calipers study NAME --out DIR`:\n\n{}", table.draw(screen));
    }
    let all: Vec<Value> = studies()
        .map(|(name, about, files)| json!({ "name": name, "about": about, "takes_files": !files.is_empty() }))
        .collect();
    json::document([("studies", all.into())])
}

/// An option that would be ignored is an error.
fn reject_input<A: Args>(args: &StudyArgs, matches: &ArgMatches, reason: &str) -> Result<()> {
    if let Some(file) = args.input.files.first() {
        bail!("{reason} and takes no files, got {}", file.display());
    }
    match args::first_given::<A>(matches) {
        Some(option) => bail!("{reason} and has no use for {option}"),
        None => Ok(()),
    }
}

/// Tables that images writes: the only files of a study that could be predictions too.
const TABLES: [&str; 3] = ["images-points.csv", "images-differences.csv", "images-models.csv"];

/// The folder of the page of that study. Files that cannot be written are an error before any work.
fn output_folder(out: &Path, study: &str, inputs: &[InputFile]) -> Result<OutputFolder> {
    let folder = OutputFolder::new(out)?;
    folder.reject_folders(|name| {
        let rest = name.strip_prefix(study);
        rest.is_some_and(|rest| {
            rest == ".md" || rest.starts_with('-') && [".svg", ".csv", ".html"].iter().any(|end| rest.ends_with(end))
        })
    })?;
    for table in TABLES {
        files::reject_overwriting(&folder.path(table), inputs)?;
    }
    Ok(folder)
}

/// Writes all files of the page, then reports the findings.
fn finish(page: &Page, folder: &OutputFolder, inputs: &[InputFile], args: &StudyArgs) -> Result<String> {
    let texts: Vec<(String, String)> = page.files().map(|file| (file.name, file.text)).collect();
    for (name, _) in &texts {
        files::reject_overwriting(&folder.path(name), inputs)?;
    }
    folder.write(&texts)?;
    let paths: Vec<String> = texts.iter().map(|(name, _)| folder.path(name).display().to_string()).collect();
    if args.output.json {
        let findings: Vec<Value> = page.findings().iter().map(finding).collect();
        return Ok(json::document([
            ("study", page.name().into()),
            ("quick", args.quick.into()),
            ("random_state", args.random_state.random_state.into()),
            ("findings", findings.into()),
            ("page", paths.first().cloned().into()),
            ("files", paths.into()),
        ]));
    }
    let findings: String =
        page.findings().iter().map(|found| format!("{}: {}\n\n", found.agreement.words(), found.text)).collect();
    let page = paths.first().map_or("", String::as_str);
    Ok(format!(
        "{findings}{}: the page, with {} charts and tables beside it\n",
        crate::printable(page),
        paths.len() - 1
    ))
}

fn finding(found: &Finding) -> Value {
    let agreement = match found.agreement {
        Agreement::Seen => "seen",
        Agreement::NotSeen => "not_seen",
        Agreement::Noted => "noted",
    };
    json!({ "agreement": agreement, "text": found.text })
}

/// The models of a group answer for the same rows.
const OF_ALL: &str = " of its group";

const WHOLE_FILES: WholeFiles = WholeFiles { verb: "study", needs: "bins of any number", by_group: false };

fn images(args: &StudyArgs, out: &Path, setting: &Setting) -> Result<String> {
    let mut reader = WHOLE_FILES.reader(&args.input, None)?;
    if args.input.files.is_empty() {
        bail!("images needs predictions: one file for each model, as cifar10=resnet20.npz");
    }
    args.output.start_threads()?;
    let named = grouped(&args.input)?;
    let inputs: Vec<InputFile> = named.iter().flat_map(|(_, files)| files.iter().cloned()).collect();
    let folder = output_folder(out, images::NAME, &inputs)?;
    let opened = named.iter().map(|(group, files)| open_all(group, files, &mut reader));
    let opened = opened.collect::<Result<Vec<_>>>()?;
    let checked = opened.iter().map(|datasets| paired::check_all(datasets, OF_ALL)).collect::<Result<Vec<_>>>()?;
    let groups = named.iter().zip(&checked).map(|((group, _), models)| {
        let models = models.iter().map(|model| Ok(Model { name: model.name.clone(), view: model.view()? }));
        Ok(Group { name: group.clone(), models: models.collect::<Result<_>>()? })
    });
    let groups: Vec<Group<'_>> = groups.collect::<Result<_>>()?;
    let page = images::run(&groups, setting)?;
    finish(&page, &folder, &inputs, args)
}

fn open_all(group: &str, files: &[InputFile], reader: &mut Reader<'_>) -> Result<Vec<Dataset<Batch>>> {
    let all = paired::open_all(files, reader, &WHOLE_FILES, OF_ALL)?;
    for (place, dataset) in all.iter().enumerate() {
        for name in paired::names(dataset) {
            if let Some(other) = all[..place].iter().find(|other| paired::names(other).contains(&name)) {
                let (file, other) = (dataset.file.shown(), other.file.shown());
                bail!("{file}: group {group} has a model {name} already, of {other}");
            }
        }
    }
    Ok(all)
}
