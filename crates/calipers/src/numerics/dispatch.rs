//! Fast instructions, chosen at run time: one source, compiled for several processors.

/// Defines a function by its portable body, and compiles that body once more for processors with
/// AVX2, and for those with AVX-512.
///
/// All give the same bits: the compiler never fuses or reorders floating-point operations, so wider
/// registers change nothing but the speed. The portable one has a name of its own, so that tests
/// can compare.
///
/// `narrow;` before the function leaves AVX-512 out, where a measurement shows that it takes
/// longer.
macro_rules! dispatched {
    (
        @with_avx512 $is_wide:literal;
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
                #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
                fn with_avx512 $(<$($generic: $bound),+>)? ($($argument: $type),*) $(-> $result)? {
                    $portable($($argument),*)
                }
                #[target_feature(enable = "avx2")]
                fn with_avx2 $(<$($generic: $bound),+>)? ($($argument: $type),*) $(-> $result)? {
                    $portable($($argument),*)
                }
                if $is_wide && $crate::numerics::dispatch::has_avx512() {
                    // SAFETY: the processor has all features that the function is compiled for.
                    #[allow(unsafe_code)]
                    return unsafe { with_avx512($($argument),*) };
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
    (narrow; $($function:tt)+) => {
        $crate::numerics::dispatch::dispatched! { @with_avx512 false; $($function)+ }
    };
    ($($function:tt)+) => {
        $crate::numerics::dispatch::dispatched! { @with_avx512 true; $($function)+ }
    };
}
pub(crate) use dispatched;

/// Whether the processor has the parts of AVX-512 that work on doubles and 64-bit integers.
#[cfg(target_arch = "x86_64")]
#[inline]
pub(crate) fn has_avx512() -> bool {
    use std::arch::is_x86_feature_detected as has;
    has!("avx512f") && has!("avx512bw") && has!("avx512dq") && has!("avx512vl")
}

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
