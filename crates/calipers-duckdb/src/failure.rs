//! Errors of the core as texts of a query, in which rows have no numbers.

use calipers::Error;

/// The text of an error, with what to do in SQL.
pub(crate) fn text(error: Error) -> String {
    let text = error.text_at("a row");
    match error {
        Error::Missing { .. }
        | Error::InvalidProbability { .. }
        | Error::InvalidLogit { .. }
        | Error::InvalidWeight { .. } => {
            format!("{text}; leave such rows out by WHERE or FILTER, or count them by the option 'invalid=count'")
        }
        Error::InvalidOutcome { .. } => format!("{text}; pass whether it is the positive one, as y = 1"),
        Error::LooksLikeLogits { .. } => format!("{text}: pass the option 'from_logits=true' if they are"),
        _ => text,
    }
}
