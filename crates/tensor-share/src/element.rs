//! The dtypes that live in arenas, and the element types behind them.

use candle_core::{DType, WithDType};

/// An element of a tensor for which every bit pattern is a valid value.
///
/// The bytes of an arena may have been written by another process, so a type that forbids some
/// patterns (a `bool`, say) must never be made of them.
///
/// # Safety
///
/// Implementers have no padding, no pointers, an alignment of at most 64 and a valid value for
/// every bit pattern.
#[expect(unsafe_code, reason = "a marker whose promise the mapped tensors rest on")]
pub unsafe trait Element: WithDType {}

/// Unwraps what [`with_element`] found for a dtype that an arena has.
pub(crate) fn known<R>(found: Option<R>) -> R {
    found.expect("invariant: arenas only have dtypes with elements")
}

macro_rules! elements {
    ($($variant:ident, $type:ty, $code:literal;)*) => {
        $(
            // SAFETY: a primitive number (the language), or a `repr(transparent)` wrapper of an
            // unsigned one (half, float8): no padding, no pointer, aligned to its size of at most 8,
            // and every bit pattern is a number, an infinity or a NaN.
            #[expect(unsafe_code, reason = "the promise of the marker, kept by plain numbers")]
            unsafe impl Element for $type {}
        )*

        /// The number by which a header or handle names a dtype.
        pub(crate) fn code(dtype: DType) -> Option<u8> {
            match dtype {
                $(DType::$variant => Some($code),)*
                _ => None,
            }
        }

        /// The dtype that has this number.
        pub(crate) fn dtype(code: u8) -> Option<DType> {
            match code {
                $($code => Some(DType::$variant),)*
                _ => None,
            }
        }

        /// Evaluates an expression with the element type of a dtype, `None` if there is none.
        macro_rules! with_element {
            ($dtype:expr, $name:ident => $body:expr) => {
                match $dtype {
                    $(candle_core::DType::$variant => { type $name = $type; Some($body) })*
                    _ => None,
                }
            };
        }
        pub(crate) use with_element;

        /// Evaluates an expression with the vector inside a storage, `None` for bytes of no dtype.
        macro_rules! with_vec {
            ($storage:expr, $name:ident => $body:expr) => {
                match $storage {
                    $(candle_core::CpuStorage::$variant($name) => Some($body),)*
                    _ => None,
                }
            };
        }
        pub(crate) use with_vec;
    };
}

elements! {
    U8, u8, 1;
    U32, u32, 2;
    I64, i64, 3;
    BF16, half::bf16, 4;
    F16, half::f16, 5;
    F32, f32, 6;
    F64, f64, 7;
    I16, i16, 8;
    I32, i32, 9;
    F8E4M3, float8::F8E4M3, 10;
}
