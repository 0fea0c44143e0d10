//! Models of candle-nn on shared weights: one that is no stack of linear layers.

use candle_core::{D, DType, Device, IndexOp as _, Module as _, Result, Tensor};
use candle_nn::{
    Conv1dConfig, Embedding, LayerNorm, Linear, VarBuilder, VarMap, conv1d, embedding, layer_norm,
    linear, linear_no_bias,
};
use tensor_share::{Arena, ZeroCopy};

use crate::util::{Place, address, builder, elements};

const WIDTH: usize = 32;
const N_HEADS: usize = 4;

/// A transformer with a causal convolution in front, small but with everything that one has.
struct Transformer {
    tokens: Embedding,
    front: candle_nn::Conv1d,
    blocks: Vec<Block>,
    last_norm: LayerNorm,
    head: Linear,
}

struct Block {
    norms: [LayerNorm; 2],
    qkv: Linear,
    out: Linear,
    wide: Linear,
    narrow: Linear,
}

impl Transformer {
    fn new(weights: &VarBuilder<'_>) -> Result<Self> {
        let block = |index: usize| {
            let weights = weights.pp("blocks").pp(index);
            Ok(Block {
                norms: [
                    layer_norm(WIDTH, 1e-5, weights.pp("norm1"))?,
                    layer_norm(WIDTH, 1e-5, weights.pp("norm2"))?,
                ],
                qkv: linear_no_bias(WIDTH, 3 * WIDTH, weights.pp("qkv"))?,
                out: linear(WIDTH, WIDTH, weights.pp("out"))?,
                wide: linear(WIDTH, 4 * WIDTH, weights.pp("wide"))?,
                narrow: linear(4 * WIDTH, WIDTH, weights.pp("narrow"))?,
            })
        };
        let padded = Conv1dConfig { padding: 2, ..Conv1dConfig::default() };
        Ok(Self {
            tokens: embedding(50, WIDTH, weights.pp("tokens"))?,
            front: conv1d(WIDTH, WIDTH, 3, padded, weights.pp("front"))?,
            blocks: (0..2).map(block).collect::<Result<_>>()?,
            last_norm: layer_norm(WIDTH, 1e-5, weights.pp("norm"))?,
            head: linear_no_bias(WIDTH, 50, weights.pp("head"))?,
        })
    }

    fn forward(&self, tokens: &Tensor) -> Result<Tensor> {
        let n = tokens.dim(1)?;
        let x = self.tokens.forward(tokens)?;
        let front = self.front.forward(&x.transpose(1, 2)?)?.i((.., .., ..n))?.transpose(1, 2)?;
        let mut x = (x + front)?;
        for block in &self.blocks {
            x = (&x + block.attention(&block.norms[0].forward(&x)?)?)?;
            let wide = block.wide.forward(&block.norms[1].forward(&x)?)?.gelu()?;
            x = (&x + block.narrow.forward(&wide)?)?;
        }
        self.head.forward(&self.last_norm.forward(&x)?)
    }
}

impl Block {
    fn attention(&self, x: &Tensor) -> Result<Tensor> {
        let (batch, n, _) = x.dims3()?;
        let qkv = self.qkv.forward(x)?.reshape((batch, n, 3, N_HEADS, WIDTH / N_HEADS))?;
        let part = |index: usize| qkv.i((.., .., index))?.transpose(1, 2)?.contiguous();
        let (q, k, v) = (part(0)?, part(1)?, part(2)?);
        let scores = (q.matmul(&k.t()?)? / 8f64.sqrt())?;
        let mask = Tensor::from_iter(
            (0..n * n).map(|i| if i % n > i / n { f32::NEG_INFINITY } else { 0.0 }),
            x.device(),
        )?;
        let scores = scores.broadcast_add(&mask.reshape((n, n))?)?;
        let mixed = candle_nn::ops::softmax(&scores, D::Minus1)?.matmul(&v)?;
        self.out.forward(&mixed.transpose(1, 2)?.reshape((batch, n, WIDTH))?)
    }
}

#[test]
fn a_transformer_is_built_on_shared_weights() {
    let variables = VarMap::new();
    let own =
        Transformer::new(&VarBuilder::from_varmap(&variables, DType::F32, &Device::Cpu)).unwrap();
    let arena = Arena::from_var_map(&variables).unwrap();
    assert_eq!(arena.zero_copy(), ZeroCopy::Shared);
    let shared = Transformer::new(&arena.var_builder(DType::F32, &Device::Cpu)).unwrap();
    let weight = address(&arena.tensor("blocks.1.qkv.weight").unwrap());
    assert_eq!(address(shared.blocks[1].qkv.weight()), weight, "the weights are those pages");

    let tokens = Tensor::from_iter((0..24u32).map(|i| i * 7 % 50), &Device::Cpu)
        .unwrap()
        .reshape((2, 12))
        .unwrap();
    let bits = |model: &Transformer| {
        elements::<f32>(&model.forward(&tokens).unwrap())
            .into_iter()
            .map(f32::to_bits)
            .collect::<Vec<_>>()
    };
    assert_eq!(bits(&own), bits(&shared));
    drop((arena, variables));
    assert_eq!(bits(&own), bits(&shared), "the model keeps the arena's pages");
}

#[test]
fn a_builder_converts_and_refuses_as_candle_does() {
    let mut builder = builder(Place::FileDescriptor);
    builder.add("head.weight", DType::F32, (2, 3)).unwrap();
    let mut writer = builder.create().unwrap();
    writer.slice_mut::<f32>("head.weight").unwrap().fill(1.5);
    let arena = writer.seal().unwrap();
    let half =
        linear_no_bias(3, 2, arena.var_builder(DType::F16, &Device::Cpu).pp("head")).unwrap();
    assert_eq!(half.weight().dtype(), DType::F16);
    let weights = arena.var_builder(DType::F32, &Device::Cpu);
    assert!(weights.contains_tensor("head.weight"));
    let error = linear_no_bias(2, 2, weights.pp("head")).unwrap_err().to_string();
    assert!(error.contains("shape mismatch for head.weight in arena"), "{error}");
    let error = linear(3, 2, weights.pp("head")).unwrap_err().to_string();
    assert!(error.contains("cannot find tensor head.bias"), "{error}");
}
