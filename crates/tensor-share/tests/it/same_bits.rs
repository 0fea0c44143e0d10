//! The same operations on mapped and on own memory give the same bits, with any number of threads.

use candle_core::quantized::{GgmlDType, QMatMul, QTensor};
use candle_core::{DType, Device, Module as _, Result, Tensor};

use crate::child::start_after;
use crate::util::{Place, arena};

const DTYPES: [DType; 3] = [DType::F32, DType::F16, DType::BF16];

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

/// The weights for [`results`]: a matrix and the kernel of a convolution.
fn weights(dtype: DType) -> [Tensor; 2] {
    // candle works elementwise with several threads from 64 Ki elements on.
    [noise(&[320, 256], dtype), noise(&[8, 3, 3, 3], dtype)]
}

/// What candle makes of weights by its operations that use threads.
pub(crate) fn results([matrix, kernel]: [&Tensor; 2]) -> Vec<Vec<u32>> {
    let dtype = matrix.dtype();
    let (rows, image) = (noise(&[5, 256], dtype), noise(&[1, 3, 16, 16], dtype));
    let mut results = vec![
        matrix.sum(0),
        matrix.sqr().and_then(|squares| squares.sum(1)),
        matrix.exp().and_then(|exps| exps * matrix),
    ];
    // candle has no products of bf16 on the CPU.
    if dtype != DType::BF16 {
        results.push(matrix.t().and_then(|columns| rows.matmul(&columns)));
        results.push(image.conv2d(kernel, 1, 1, 1, 1));
    }
    results.push(quantized_product(matrix, GgmlDType::Q8_0));
    results.push(quantized_product(matrix, GgmlDType::Q4K));
    results.into_iter().map(|result| bits(&result.unwrap())).collect()
}

fn quantized_product(matrix: &Tensor, dtype: GgmlDType) -> Result<Tensor> {
    let quantized = QTensor::quantize(&matrix.to_dtype(DType::F32)?, dtype)?;
    QMatMul::from_qtensor(quantized)?.forward(&noise(&[5, 256], DType::F32))
}

fn bits(tensor: &Tensor) -> Vec<u32> {
    // Widening to f32 keeps different numbers different.
    let tensor = tensor.to_dtype(DType::F32).unwrap();
    crate::util::elements::<f32>(&tensor).iter().map(|x| x.to_bits()).collect()
}

/// A number that differs where results do.
pub(crate) fn digest(results: &[Vec<u32>]) -> u64 {
    let mix = |hash: u64, &word: &u32| (hash ^ u64::from(word)).wrapping_mul(0x0100_0000_01b3);
    results.iter().flatten().fold(0xcbf2_9ce4_8422_2325, mix)
}

#[test]
fn in_pools_of_one_to_four_threads() {
    for dtype in DTYPES {
        let own = weights(dtype);
        let arena = arena(Place::FileDescriptor, &[("matrix", &own[0]), ("kernel", &own[1])]);
        let mapped = ["matrix", "kernel"].map(|name| arena.tensor(name).unwrap());
        let expected = results(own.each_ref());
        for n_threads in 1..=4 {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(n_threads).build().unwrap();
            pool.install(|| {
                for weights in [&own, &mapped] {
                    let found = results(weights.each_ref());
                    assert!(found == expected, "{dtype:?}, {n_threads} threads");
                }
            });
        }
    }
}

/// candle fixes the threads of its elementwise work and of its quantised products when it first uses
/// them, so each number of threads needs a process.
#[test]
fn in_processes_of_one_to_four_threads() {
    let own = DTYPES.map(weights);
    let tensors = own.iter().flatten().enumerate();
    let named: Vec<_> = tensors.map(|(index, tensor)| (index.to_string(), tensor)).collect();
    let named: Vec<_> = named.iter().map(|(name, tensor)| (&**name, *tensor)).collect();
    let arena = arena(Place::FileDescriptor, &named);
    let shared: Vec<_> = arena.iter().map(|(_, shared)| shared).collect();
    let expected: Vec<u64> =
        own.iter().map(|weights| digest(&results(weights.each_ref()))).collect();
    for n_threads in 1..=4 {
        let threads =
            format!("export RAYON_NUM_THREADS={n_threads} CANDLE_NUM_THREADS={n_threads};");
        let mut process = start_after(&threads, "same bits", &shared);
        assert_eq!(process.line(), format!("{expected:?}"), "{n_threads} threads");
    }
}
