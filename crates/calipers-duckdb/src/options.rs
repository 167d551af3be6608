//! Options as text, the last argument of a function: `'monitoring'`, `'invalid=count, clip=1e-5'`.

use std::cell::RefCell;
use std::str::FromStr;
use std::sync::Arc;

use calipers::{Form, Invalid, Profile, Settings, Sketch, SketchOptions, Spec};

use crate::failure;

/// The names of a text `name=value, name=value`, in order, each with its value. A word alone is
/// the value of `name_of_word`.
pub(crate) fn pairs<'a>(
    text: &'a str,
    name_of_word: &'a str,
) -> impl Iterator<Item = Result<(&'a str, &'a str), String>> {
    text.split(',').map(str::trim).filter(|part| !part.is_empty()).map(move |part| match part.split_once('=') {
        None if !name_of_word.is_empty() => Ok((name_of_word, part)),
        Some((name, value)) if !name.trim().is_empty() && !value.trim().is_empty() => Ok((name.trim(), value.trim())),
        _ => Err(format!("options must be name=value, separated by commas, got {part:?}")),
    })
}

/// A value, or an error that names the option.
pub(crate) fn value<T: FromStr>(name: &str, text: &str, rule: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("{name} must be {rule}, got {text:?}"))
}

/// How rows are read, and what sketch they go into.
#[derive(Debug)]
pub(crate) struct Kind {
    /// As the query has it.
    pub(crate) text: String,
    pub(crate) invalid: Invalid,
    pub(crate) form: Form,
    /// A sketch without rows, which those of all groups share their options with.
    pub(crate) empty: Sketch,
}

thread_local! {
    /// The last kind that this thread has read: all rows of a query have the same.
    static LAST: RefCell<Option<Arc<Kind>>> = const { RefCell::new(None) };
}

impl Kind {
    /// The kind that a text stands for.
    pub(crate) fn of(text: &str) -> Result<Arc<Self>, String> {
        let last = LAST.with_borrow(Clone::clone);
        if let Some(last) = last.filter(|last| last.text == text) {
            return Ok(last);
        }
        let kind = Arc::new(Kind::read(text)?);
        LAST.set(Some(Arc::clone(&kind)));
        Ok(kind)
    }

    fn read(text: &str) -> Result<Self, String> {
        let (mut invalid, mut form) = (Invalid::default(), Form::Probabilities);
        let (mut profile, mut resolution) = (Profile::default(), None);
        let mut options = SketchOptions::new();
        for pair in pairs(text, "profile") {
            let (name, given) = pair?;
            match name {
                "profile" => profile = given.parse().map_err(failure::text)?,
                "resolution" => resolution = Some(value(name, given, "an integer from 6 to 20")?),
                "clip" => options = options.clip(value(name, given, "a number")?),
                "n_bins" => {
                    let rule = "integers separated by spaces";
                    let n_bins = given.split_whitespace().map(|n_bins| value(name, n_bins, rule));
                    options = options.n_bins(&n_bins.collect::<Result<Vec<usize>, _>>()?);
                }
                "weight_bits" => options = options.weight_bits(value(name, given, "an integer from 0 to 64")?),
                "invalid" => invalid = given.parse().map_err(failure::text)?,
                "from_logits" => match value(name, given, "true or false")? {
                    true => form = Form::Logits,
                    false => form = Form::Probabilities,
                },
                _ => {
                    let known = "profile, resolution, clip, n_bins, weight_bits, invalid or from_logits";
                    return Err(format!("option must be {known}, got {name:?}"));
                }
            }
        }
        let options = options.profile(profile);
        let options = resolution.map_or(options.clone(), |resolution| options.resolution(resolution));
        let empty = Sketch::with(&options).map_err(failure::text)?;
        Ok(Kind { text: text.to_owned(), invalid, form, empty })
    }
}

/// Names with their values.
type Pairs<'a> = Vec<(&'a str, &'a str)>;

/// The settings of a measure that a text stands for, and the pairs that are none of its options.
pub(crate) fn settings<'a>(spec: &'static Spec, text: &'a str) -> Result<(Settings, Pairs<'a>), String> {
    let (mut settings, mut others) = (Settings::default(), Vec::new());
    for pair in pairs(text, "") {
        let (name, given) = pair?;
        match spec.option(name) {
            Some(option) => {
                settings = settings.with(option.name, option.parse(given).map_err(failure::text)?);
            }
            None => others.push((name, given)),
        }
    }
    Ok((settings, others))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Kind {
        Kind::read(text).unwrap()
    }

    fn refused(text: &str) -> String {
        Kind::read(text).unwrap_err()
    }

    #[test]
    fn a_word_alone_is_a_profile() {
        assert_eq!(read("monitoring").empty.options().profile_value(), Profile::Monitoring);
        assert_eq!(read("").empty.options(), &SketchOptions::new());
        let kind = read("profile=monitoring, resolution = 9,invalid=count , n_bins=20 7, from_logits=true");
        let options = kind.empty.options();
        assert_eq!((options.resolution_bits(), options.declared_bins()), (9, &[7, 20][..]));
        assert_eq!((kind.invalid, kind.form), (Invalid::Count, Form::Logits));
    }

    #[test]
    fn an_invalid_option_is_named_with_its_rule() {
        assert_eq!(refused("fast"), "profile must be \"exact\" or \"monitoring\", got \"fast\"");
        assert_eq!(refused("resolution=x"), "resolution must be an integer from 6 to 20, got \"x\"");
        assert_eq!(refused("resolution=30"), "resolution must be from 6 to 20, got 30");
        assert_eq!(refused("invalid=drop"), "invalid must be \"reject\" or \"count\", got \"drop\"");
        assert_eq!(refused("clip="), "options must be name=value, separated by commas, got \"clip=\"");
        let known = "profile, resolution, clip, n_bins, weight_bits, invalid or from_logits";
        assert_eq!(refused("bins=3"), format!("option must be {known}, got \"bins\""));
    }

    #[test]
    fn a_text_is_read_once_by_a_thread() {
        let (first, again) = (Kind::of("monitoring").unwrap(), Kind::of("monitoring").unwrap());
        assert!(Arc::ptr_eq(&first, &again));
        assert!(!Arc::ptr_eq(&first, &Kind::of("exact").unwrap()));
    }
}
