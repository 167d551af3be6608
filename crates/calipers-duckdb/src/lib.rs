//! An extension of DuckDB: sketches of predictions as aggregates, and measures of sketches as
//! scalar functions.
//!
//! ```text
//! rows  -> calipers_sketch -> BLOB   the bytes of `Sketch::to_bytes`
//! BLOBs -> calipers_merge  -> BLOB
//! BLOB  -> calipers_n | calipers_ls_ece | calipers_ece | calipers_measure -> a number
//!       -> calipers_assess -> STRUCT
//! ```
//! There is no arithmetic here. `engine/` is the boundary to DuckDB, and the one place with
//! `unsafe`; the other modules turn columns into rows of the core, and its answers into values.

mod answers;
mod engine;
mod failure;
mod merging;
mod options;
mod sketching;

use answers::{Assess, Ece, LsEce, Measure, N};
use engine::{Aggregate, AggregateSet, Connection, Scalar, ScalarSet, Type};
use merging::Merging;
use sketching::Sketching;

/// Adds all functions to a database.
fn register(connection: &Connection) -> Result<(), String> {
    register_sketch(connection)?;
    AggregateSet::new(Merging::NAME).with::<Merging>(&[Type::Blob])?.register(connection)?;
    register_scalar::<N>(connection, &[&[]])?;
    register_scalar::<LsEce>(connection, &[&[], &[Type::Double]])?;
    register_scalar::<Ece>(connection, &[&[], &[Type::BigInt]])?;
    let named: [&[Type]; 2] = [&[Type::Varchar], &[Type::Varchar, Type::Varchar]];
    register_scalar::<Measure>(connection, &named)?;
    register_scalar::<Assess>(connection, &[&[], named[0], named[1]])
}

/// `calipers_sketch(p, y [, w] [, options])`. DuckDB converts other numbers to these types.
fn register_sketch(connection: &Connection) -> Result<(), String> {
    let mut set = AggregateSet::new(Sketching::NAME);
    for probability in [Type::Double, Type::Float] {
        for label in [Type::Boolean, Type::BigInt, Type::Double] {
            for more in [&[][..], &[Type::Double], &[Type::Varchar], &[Type::Double, Type::Varchar]] {
                set = set.with::<Sketching>(&[&[probability, label], more].concat())?;
            }
        }
    }
    set.register(connection)
}

/// A function of a sketch and further arguments.
fn register_scalar<S: Scalar>(connection: &Connection, further: &[&[Type]]) -> Result<(), String> {
    let set = ScalarSet::new(S::NAME);
    let with = |set: ScalarSet, further: &&[Type]| set.with::<S>(&[&[Type::Blob], *further].concat());
    further.iter().try_fold(set, with)?.register(connection)
}
