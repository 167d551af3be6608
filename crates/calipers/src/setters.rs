//! Builder methods that only replace a field.

/// Methods `pub fn name(self, value) -> Self` for fields of the same name:
///
/// - `name: Type;` takes the value as it is,
/// - `name: into Type;` takes what can be made into it,
/// - `name: some Type;` takes the value of an option that is `None` unless set,
/// - `name: shared Trait;` takes an [`IntoLink`](crate::IntoLink) or an
///   [`IntoNoise`](crate::IntoNoise).
macro_rules! setters {
    () => {};
    ($(#[$doc:meta])* $name:ident: into $type:ty; $($rest:tt)*) => {
        $(#[$doc])*
        pub fn $name(mut self, $name: impl Into<$type>) -> Self {
            self.$name = $name.into();
            self
        }
        $crate::setters::setters! { $($rest)* }
    };
    ($(#[$doc:meta])* $name:ident: some $type:ty; $($rest:tt)*) => {
        $(#[$doc])*
        pub fn $name(mut self, $name: $type) -> Self {
            self.$name = Some($name);
            self
        }
        $crate::setters::setters! { $($rest)* }
    };
    ($(#[$doc:meta])* $name:ident: shared $type:ident; $($rest:tt)*) => {
        $(#[$doc])*
        pub fn $name(mut self, $name: impl $crate::$type) -> Self {
            self.$name = $crate::$type::shared($name);
            self
        }
        $crate::setters::setters! { $($rest)* }
    };
    ($(#[$doc:meta])* $name:ident: $type:ty; $($rest:tt)*) => {
        $(#[$doc])*
        pub fn $name(mut self, $name: $type) -> Self {
            self.$name = $name;
            self
        }
        $crate::setters::setters! { $($rest)* }
    };
}

pub(crate) use setters;
