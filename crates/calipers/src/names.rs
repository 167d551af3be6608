//! Enums whose variants have names, as options have them.

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
                    _ => Err($crate::Error::setting($option, $crate::names::rule(Self::NAMES), format!("{text:?}"))),
                }
            }
        }

        $crate::measure::parsed_option! { $type }
    };
}

pub(crate) use names;

/// `"a", "b" or "c"`.
pub(crate) fn rule(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("{name:?}")).collect();
    match &quoted[..] {
        [others @ .., last] if !others.is_empty() => format!("{} or {last}", others.join(", ")),
        _ => quoted.concat(),
    }
}
