//! Measures that were selected by name.

use std::sync::Arc;

use calipers::{BinnedEce, Error, LsEce, Measure, Spec, registry};

use crate::args::{NamedOptionArgs, OptionArgs};

/// A measure that was selected by name.
#[derive(Clone)]
pub(crate) struct Selected {
    /// What it is with the options in force, in one line.
    pub(crate) definition: String,
    pub(crate) measure: Arc<dyn Measure>,
}

impl Selected {
    pub(crate) fn name(&self) -> &'static str {
        self.measure.spec().name
    }
}

/// The measures of these names, each once, with the options that have a flag and those by name.
pub(crate) fn by_names(names: &[&str], options: &OptionArgs, named: &NamedOptionArgs) -> Result<Vec<Selected>, Error> {
    let mut selected: Vec<Selected> = Vec::new();
    for &written in names {
        let spec = registry::spec(written)?;
        if selected.iter().all(|before| before.name() != spec.name) {
            let (definition, measure) = made(spec, options, named)?;
            selected.push(Selected { definition: definition.unwrap_or_else(|| spec.definition.to_owned()), measure });
        }
    }
    let specs = selected.iter().map(|each| each.measure.spec());
    let (with_flags, others): (Vec<&Spec>, Vec<&Spec>) = specs.partition(|spec| has_flags(spec));
    named.check(&others, &with_flags)?;
    Ok(selected)
}

/// Whether the options of a measure are flags of the command: those of LS-ECE, its residual form
/// and ECE.
fn has_flags(spec: &Spec) -> bool {
    [LsEce::new().spec().name, LsEce::new().residual().spec().name, BinnedEce::NAME].contains(&spec.name)
}

/// A measure with the options of the command.
fn made(
    spec: &Spec,
    options: &OptionArgs,
    named: &NamedOptionArgs,
) -> Result<(Option<String>, Arc<dyn Measure>), Error> {
    let (smoothed, binned) = (options.ls_ece(), options.binned_ece());
    if spec.name == smoothed.spec().name {
        return Ok((options.smoothed_definition("mean |E[y|t] - t| after"), Arc::new(smoothed)));
    }
    let residual = smoothed.residual();
    if spec.name == residual.spec().name {
        let definition = options.smoothed_definition("total size of the residuals r after smoothing by");
        return Ok((definition, Arc::new(residual)));
    }
    if spec.name == binned.spec().name {
        return Ok((options.binned_definition(), Arc::new(binned)));
    }
    let settings = named.of(spec)?;
    let takes_link = spec.option("link").is_some() && settings.get("link").is_none();
    let settings = if takes_link { settings.with("link", options.link().name()) } else { settings };
    Ok((None, Arc::from(registry::make(spec.name, &settings)?)))
}
