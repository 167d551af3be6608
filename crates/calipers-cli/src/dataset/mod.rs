//! Files -> rows or sketches of each model in them.

pub(crate) mod batch;
pub(crate) mod columns;
pub(crate) mod files;
pub(crate) mod formats;
pub(crate) mod groups;
pub(crate) mod model;
pub(crate) mod sketches;
pub(crate) mod sketching;
pub(crate) mod source;
