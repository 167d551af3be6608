//! Links and noises behind an `Arc`, and by name.

/// What [`Link`](crate::Link) and [`Noise`](crate::Noise) have in common: what builder methods take
/// for one of them, shared or not, and the built-in types by name.
macro_rules! shared {
    ($trait:ident, $into:ident, $option:literal; $($text:literal => $built_in:expr),* $(,)?) => {
        /// A value of a type of one's own or a built-in one, or what [`by_name`] returns.
        pub trait $into {
            /// Behind an `Arc`, so that several measures can share it.
            fn shared(self) -> Arc<dyn $trait>;
        }

        impl<T: $trait + 'static> $into for T {
            fn shared(self) -> Arc<dyn $trait> {
                Arc::new(self)
            }
        }

        impl $into for Arc<dyn $trait> {
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
