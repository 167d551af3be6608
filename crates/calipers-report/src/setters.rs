/// Builder methods, each from its name, its argument and the change that it makes:
/// `size(width: f64) |chart| chart.width = width;`.
macro_rules! setters {
    ($($(#[$attribute:meta])* $name:ident($($value:ident: $type:ty)?) |$this:ident| $change:expr;)*) => {$(
        $(#[$attribute])*
        pub fn $name(mut self $(, $value: $type)?) -> Self {
            let $this = &mut self;
            $change;
            self
        }
    )*};
}
pub(crate) use setters;
