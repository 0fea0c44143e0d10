//! What networks are shown of a market.

use pams_agent::AgentError;
use pams_core::MarketView;
use pams_core::random::Arithmetic;

/// The last `length` log returns of the market price, the newest last, times `scale`; zeros for
/// returns before time 0.
///
/// Logarithms are those of the run's arithmetic, in 64 bits, so that they are the same everywhere;
/// the result is rounded to 32 bits. An agent that calls this looks `length` steps
/// [back](pams_agent::Agent::look_back).
///
/// # Errors
///
/// When a step is no longer kept, or a return does not exist because a price is not above 0.
pub fn log_returns(
    market: &MarketView,
    length: u64,
    scale: f64,
    arithmetic: Arithmetic,
) -> Result<Vec<f32>, AgentError> {
    let now = market.time();
    let n_returns = length.min(now.since_start());
    let n_zeros = usize::try_from(length - n_returns)?;
    let mut returns = Vec::with_capacity(usize::try_from(length)?);
    returns.resize(n_zeros, 0.0);
    let mut before = market.values_at(now.saturating_sub(n_returns))?.market_price;
    for age in (0..n_returns).rev() {
        let step = now.saturating_sub(age);
        let price = market.values_at(step)?.market_price;
        let ratio = price / before;
        // The comparison is false for NaN too.
        if !(ratio > 0.0 && ratio.is_finite()) {
            return Err(format!(
                "market {} went from {before} to {price} in step {step}: there is no log return",
                market.name()
            )
            .into());
        }
        #[expect(clippy::cast_possible_truncation, reason = "networks compute in 32 bits")]
        returns.push((scale * arithmetic.ln(ratio)) as f32);
        before = price;
    }
    Ok(returns)
}
