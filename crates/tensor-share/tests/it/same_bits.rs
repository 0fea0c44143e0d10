//! The same operations on mapped and on own memory give the same bits.

use candle_core::{DType, Device, Tensor};

use crate::util::{Place, arena};

/// Numbers between -1 and 1 that are the same in every run.
fn noise(shape: &[usize], dtype: DType) -> Tensor {
    let n: usize = shape.iter().product();
    let mut state = 1u32;
    let numbers = (0..n).map(|_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        f32::from(u16::try_from(state >> 16).unwrap()) / 32768.0 - 1.0
    });
    let tensor = Tensor::from_iter(numbers, &Device::Cpu).unwrap();
    tensor.reshape(shape).unwrap().to_dtype(dtype).unwrap()
}

fn bits(tensor: &Tensor) -> Vec<u32> {
    // Widening to f32 keeps different numbers different.
    let tensor = tensor.to_dtype(DType::F32).unwrap();
    crate::util::elements::<f32>(&tensor).iter().map(|x| x.to_bits()).collect()
}

#[test]
fn products_convolutions_and_sums() {
    for dtype in [DType::F32, DType::F16, DType::BF16] {
        let (matrix, kernel) = (noise(&[256, 256], dtype), noise(&[8, 3, 3, 3], dtype));
        let (rows, image) = (noise(&[5, 256], dtype), noise(&[1, 3, 16, 16], dtype));
        let arena = arena(Place::FileDescriptor, &[("matrix", &matrix), ("kernel", &kernel)]);
        let mapped = ["matrix", "kernel"].map(|name| arena.tensor(name).unwrap());
        let operations = |[matrix, kernel]: [&Tensor; 2]| {
            let sums = [matrix.sum(0), matrix.sqr().and_then(|squares| squares.sum(1))];
            // candle has no products of bf16 on the CPU.
            let products = (dtype != DType::BF16)
                .then(|| [rows.matmul(matrix), image.conv2d(kernel, 1, 1, 1, 1)]);
            let results = sums.into_iter().chain(products.into_iter().flatten());
            results.map(|result| bits(&result.unwrap())).collect::<Vec<_>>()
        };
        let mut expected = None;
        for n_threads in 1..=4 {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(n_threads).build().unwrap();
            pool.install(|| {
                let own = operations([&matrix, &kernel]);
                assert_eq!(own, operations(mapped.each_ref()), "{dtype:?}, {n_threads} threads");
                assert_eq!(
                    expected.get_or_insert_with(|| own.clone()),
                    &own,
                    "{dtype:?}, {n_threads} threads"
                );
            });
        }
    }
}
