//! The parts that all measures with options have in common, written once.

/// Declares a measure by its options. The macro writes the struct, its defaults, `new`, a builder
/// method for each option, and `with_options` and `configured`, which read options by name.
///
/// ```text
/// name: Type = default;         the builder method takes a value of the type
/// name: into Type = default;    the builder method takes anything that converts into the type
/// name: own Type = default;     the builder method is written by hand
/// name: fixed Type = default;   no option: there is no builder method, and no name to read it by
/// link: Link;  noise: Noise;    the two options that many measures share
/// ```
macro_rules! measure {
    ($(#[$doc:meta])* pub struct $measure:ident { $($fields:tt)* }) => {
        measure! { @munch {$(#[$doc])*} $measure {} $($fields)* }
    };

    (@munch $docs:tt $measure:ident $done:tt $(#[$doc:meta])* new; $($rest:tt)*) => {
        measure! { @munch $docs $measure $done $($rest)* }

        impl $measure {
            $(#[$doc])*
            pub fn new() -> Self {
                Self::default()
            }
        }
    };
    (@munch $docs:tt $measure:ident {$($done:tt)*} link: Link; $($rest:tt)*) => {
        measure! { @munch $docs $measure { $($done)* {
            link {std::sync::Arc<dyn $crate::Link>} {std::sync::Arc::new($crate::Logistic)} (shared IntoLink)
            {#[doc = "The link that turns raw binary scores into probabilities."]}
        } } $($rest)* }
    };
    (@munch $docs:tt $measure:ident {$($done:tt)*} noise: Noise; $($rest:tt)*) => {
        measure! { @munch $docs $measure { $($done)* {
            noise {std::sync::Arc<dyn $crate::Noise>} {std::sync::Arc::new($crate::noise::Gaussian)} (shared IntoNoise)
            {#[doc = "The distribution of the noise."]}
        } } $($rest)* }
    };
    (@munch $docs:tt $measure:ident {$($done:tt)*} $(#[$doc:meta])* $name:ident: into $type:ty = $default:expr; $($rest:tt)*) => {
        measure! { @munch $docs $measure { $($done)* { $name {$type} {$default} (into) {$(#[$doc])*} } } $($rest)* }
    };
    (@munch $docs:tt $measure:ident {$($done:tt)*} $(#[$doc:meta])* $name:ident: own $type:ty = $default:expr; $($rest:tt)*) => {
        measure! { @munch $docs $measure { $($done)* { $name {$type} {$default} (own) {$(#[$doc])*} } } $($rest)* }
    };
    (@munch $docs:tt $measure:ident {$($done:tt)*} $(#[$doc:meta])* $name:ident: fixed $type:ty = $default:expr; $($rest:tt)*) => {
        measure! { @munch $docs $measure { $($done)* { $name {$type} {$default} (fixed) {$(#[$doc])*} } } $($rest)* }
    };
    (@munch $docs:tt $measure:ident {$($done:tt)*} $(#[$doc:meta])* $name:ident: $type:ty = $default:expr; $($rest:tt)*) => {
        measure! { @munch $docs $measure { $($done)* { $name {$type} {$default} (plain) {$(#[$doc])*} } } $($rest)* }
    };

    (@munch {$($docs:tt)*} $measure:ident { $({ $name:ident {$type:ty} {$default:expr} $kind:tt $doc:tt })* }) => {
        $($docs)*
        #[derive(Debug, Clone)]
        pub struct $measure {
            $($name: $type,)*
        }

        impl Default for $measure {
            fn default() -> Self {
                $measure { $($name: $default,)* }
            }
        }

        impl $measure {
            $(measure! { @setter $kind $doc $name {$type} })*

            /// With the options that the measure of this name has, given or by default.
            pub(crate) fn with_options(
                mut self,
                options: &$crate::measure::Options<'_>,
            ) -> Result<Self, $crate::Error> {
                $(measure! { @read $kind self $name options })*
                Ok(self)
            }

            /// The same as any measure.
            #[allow(dead_code)]
            pub(crate) fn configured(
                self,
                options: &$crate::measure::Options<'_>,
            ) -> Result<Box<dyn $crate::Measure>, $crate::Error> {
                Ok(Box::new(self.with_options(options)?))
            }
        }
    };

    (@setter (plain) {$($doc:tt)*} $name:ident {$type:ty}) => {
        $crate::setters::setters! { $($doc)* $name: $type; }
    };
    (@setter (into) {$($doc:tt)*} $name:ident {$type:ty}) => {
        $crate::setters::setters! { $($doc)* $name: into $type; }
    };
    (@setter (shared $trait:ident) {$($doc:tt)*} $name:ident {$type:ty}) => {
        $crate::setters::setters! { $($doc)* $name: shared $trait; }
    };
    (@setter $kind:tt $doc:tt $name:ident {$type:ty}) => {};

    (@read (fixed) $self:ident $name:ident $options:ident) => {};
    (@read $kind:tt $self:ident $name:ident $options:ident) => {
        if let Some(value) = $options.read(stringify!($name))? {
            $self.$name = value;
        }
    };
}

/// Declares a measure that can be made by name: `entry! { NAME = Measure::new(); spec }`. The
/// options of the spec are read into the measure.
macro_rules! entry {
    ($name:ident = $measure:expr; $spec:expr) => {
        pub(crate) const $name: $crate::registry::Entry =
            $crate::registry::Entry { spec: &$spec, make: |options| $measure.configured(options) };
    };
}

/// The methods `spec` and `link` of a measure that has a link of its own.
macro_rules! described {
    ($self:ident => $spec:expr) => {
        fn spec(&$self) -> &'static $crate::Spec {
            $spec
        }

        fn link(&self) -> &dyn $crate::Link {
            &*self.link
        }
    };
    ($spec:expr) => {
        described! { self => $spec }
    };
}

/// An option that is a value, or the text `auto`: `From` the value and `FromStr`. The texts are the
/// name of the option and its rule, for errors.
macro_rules! or_auto {
    ($type:ident, $option:literal, $rule:expr; $auto:ident or $value:ident($of:ty)) => {
        impl From<$of> for $type {
            fn from(value: $of) -> Self {
                $type::$value(value)
            }
        }

        impl std::str::FromStr for $type {
            type Err = $crate::Error;

            fn from_str(text: &str) -> Result<Self, $crate::Error> {
                let invalid = |_| $crate::Error::setting($option, $rule, format!("{text:?}"));
                match text {
                    "auto" => Ok($type::$auto),
                    _ => text.parse().map($type::$value).map_err(invalid),
                }
            }
        }

        $crate::measure::parsed_option! { $type }
    };
}

pub(crate) use {described, entry, measure, or_auto};
