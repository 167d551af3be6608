//! Estimates as plain data, for whoever turns on the feature `serde`.

use serde::ser::{Serialize, SerializeMap, Serializer};

use super::{Settings, Spec};

/// A measure by its name.
pub(super) fn name<S: Serializer>(spec: &&'static Spec, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(spec.name)
}

impl Serialize for Settings {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (name, value) in self.iter() {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}
