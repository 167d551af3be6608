//! Links and noises behind an `Arc`, and by name.

/// What [`Link`](crate::Link) and [`Noise`](crate::Noise) have in common: the trait for
/// `Arc<dyn Trait>`, which forwards every call, and the built-in types by name.
macro_rules! shared {
    (
        $trait:ident, $option:literal;
        $($text:literal => $built_in:expr),*;
        $(fn $method:ident($($argument:ident: $type:ty),*) $(-> $result:ty)?;)*
    ) => {
        /// As [`by_name`] returns it.
        impl $trait for Arc<dyn $trait> {
            $(fn $method(&self, $($argument: $type),*) $(-> $result)? {
                (**self).$method($($argument),*)
            })*

            fn shared(self) -> Arc<dyn $trait> {
                self
            }
        }

        /// The names that [`by_name`] knows.
        pub const NAMES: [&str; [$($text),*].len()] = [$($text),*];

        /// The built-in one of that name.
        pub fn by_name(name: &str) -> Result<Arc<dyn $trait>, Error> {
            match name {
                $($text => Ok(Arc::new($built_in)),)*
                _ => Err(Error::setting($option, rule(&NAMES), format!("{name:?}"))),
            }
        }
    };
}

pub(crate) use shared;
