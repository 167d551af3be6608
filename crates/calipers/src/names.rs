//! Enums whose variants have names, as options have them.

use strsim::levenshtein;

/// `ALL`, `NAMES`, `name` and `FromStr` of an enum:
/// `names! { Norm, "norm"; L1 = "l1", L2 = "l2" }`. The text after the type is the name of the
/// option, for errors.
macro_rules! names {
    ($type:ident, $option:literal; $($variant:ident = $name:literal),* $(,)?) => {
        impl $type {
            /// All variants, in order.
            pub const ALL: [$type; Self::NAMES.len()] = [$($type::$variant),*];

            /// All names, in order.
            pub const NAMES: &'static [&'static str] = &[$($name),*];

            /// The name as an option.
            pub fn name(self) -> &'static str {
                match self {
                    $($type::$variant => $name),*
                }
            }
        }

        impl std::str::FromStr for $type {
            type Err = $crate::Error;

            fn from_str(text: &str) -> Result<Self, $crate::Error> {
                match text {
                    $($name => Ok($type::$variant),)*
                    _ => {
                        let hint = $crate::names::hint(text, Self::NAMES.iter().copied());
                        Err($crate::Error::setting($option, $crate::names::rule(Self::NAMES), format!("{text:?}{hint}")))
                    }
                }
            }
        }

        $crate::measure::parsed_option! { $type }
    };
}

pub(crate) use names;

/// `; did you mean "platt"?` where one of the names is near what was written, or begins so.
pub(crate) fn hint<'a>(written: &str, names: impl Iterator<Item = &'a str>) -> String {
    let is_close = |name: &&str| {
        levenshtein(written, name) <= name.len() / 3 || (!written.is_empty() && name.starts_with(written))
    };
    let closest = names.filter(is_close).min_by_key(|name| levenshtein(written, name));
    closest.map_or(String::new(), |closest| format!("; did you mean {closest:?}?"))
}

/// `"a", "b" or "c"`.
pub(crate) fn rule(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("{name:?}")).collect();
    match &quoted[..] {
        [others @ .., last] if !others.is_empty() => format!("{} or {last}", others.join(", ")),
        _ => quoted.concat(),
    }
}
