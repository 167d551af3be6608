//! Fast instructions, chosen at run time: one source, compiled for several processors.

/// Defines a function by its portable body, and compiles that body once more for processors with
/// AVX2.
///
/// Both give the same bits: the compiler never fuses or reorders floating-point operations, so
/// wider registers change nothing but the speed. The portable one has a name of its own, so that
/// tests can compare the two.
macro_rules! dispatched {
    (
        $(#[$attribute:meta])*
        $visibility:vis fn $name:ident / $portable:ident
        $(<$($generic:ident: $bound:path),+>)?
        ($($argument:ident: $type:ty),* $(,)?) $(-> $result:ty)? $body:block
    ) => {
        #[inline(always)]
        $visibility fn $portable $(<$($generic: $bound),+>)? ($($argument: $type),*) $(-> $result)? $body

        $(#[$attribute])*
        $visibility fn $name $(<$($generic: $bound),+>)? ($($argument: $type),*) $(-> $result)? {
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx2")]
                fn with_avx2 $(<$($generic: $bound),+>)? ($($argument: $type),*) $(-> $result)? {
                    $portable($($argument),*)
                }
                if std::arch::is_x86_feature_detected!("avx2") {
                    // SAFETY: the processor has the one feature that the function is compiled for.
                    #[allow(unsafe_code)]
                    return unsafe { with_avx2($($argument),*) };
                }
            }
            $portable($($argument),*)
        }
    };
}
pub(crate) use dispatched;

#[cfg(test)]
mod tests {
    dispatched! {
        /// Sum of squares, generic to see that types pass.
        fn squares / squares_portable<T: num::Wide>(values: &[T]) -> f64 {
            values.iter().map(|value| value.wide() * value.wide()).sum()
        }
    }

    mod num {
        pub(super) trait Wide: Copy {
            fn wide(self) -> f64;
        }
        impl Wide for f32 {
            fn wide(self) -> f64 {
                self.into()
            }
        }
    }

    #[test]
    fn both_compilations_give_the_same_bits() {
        let values: Vec<f32> = (0..1001).map(|k| (k as f32).sin()).collect();
        assert_eq!(squares(&values).to_bits(), squares_portable(&values).to_bits());
    }
}
