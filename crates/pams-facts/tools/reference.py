#!/usr/bin/env python3
"""Writes tests/data/reference.json: the facts of three small series, computed by other people's code.

    python3 -m venv venv && venv/bin/pip install numpy scipy statsmodels
    venv/bin/python crates/pams-facts/tools/reference.py

The series are made by a formula of additions, multiplications, divisions and square roots, which every
machine rounds alike, so that `tests/it/series.rs` makes the same ones to the bit.
"""

import json
import math
from pathlib import Path

import numpy as np
import scipy.stats
import statsmodels.api as sm
from statsmodels.stats.diagnostic import acorr_ljungbox
from statsmodels.tsa.stattools import acf

LAGS = [1, 2, 5, 10, 20, 50]
MAX_LAG = 50
FRACTION = 0.05


class Source:
    """Numbers from [0, 1) by a linear congruence."""

    def __init__(self, seed):
        self.state = seed

    def uniform(self):
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) % 2**64
        return (self.state >> 11) / 2**53

    def bell(self):
        total = 0.0
        for _ in range(12):
            total += self.uniform()
        return total - 6.0


def series(seed, n=600):
    source = Source(seed)
    price, mid, fundamental, variance, value = 300.0, 300.0, 300.0, 1e-4, 0.0
    names = ["price", "mid", "fundamental", "volume", "signed_volume"]
    names += ["best_bid", "best_ask", "bid_volume", "ask_volume"]
    columns = {name: [] for name in names}
    for step in range(n):
        variance = 1e-6 + 0.15 * (value * value) + 0.8 * variance
        value = math.sqrt(variance) * source.bell()
        price = price * (1.0 + value)
        fundamental = fundamental * (1.0 + 0.0005 * source.bell())
        volume = math.floor(10.0 * source.uniform() + 3000.0 * abs(value))
        signed = math.floor(20.0 * source.uniform()) - 10
        mid = mid + 0.02 * signed + 0.05 * source.bell()
        bid = mid - 0.1 - 0.2 * source.uniform()
        ask = mid + 0.1 + 0.2 * source.uniform()
        row = [price, mid, fundamental, float(volume), float(signed)]
        row += [math.nan if step % 17 == 5 else bid, ask]
        row += [float(math.floor(1.0 + 50.0 * source.uniform())), float(math.floor(50.0 * source.uniform()))]
        for name, number in zip(names, row):
            columns[name].append(number)
    return {name: np.array(numbers) for name, numbers in columns.items()}


def hill(values):
    """The tail index as the maximum likelihood of a Pareto distribution beyond the threshold."""
    values = np.sort(values[values > 0])[::-1]
    k = int(len(values) * FRACTION)
    shape, _, _ = scipy.stats.pareto.fit(values[:k], floc=0, fscale=values[k])
    return shape


def correlations(values):
    return acf(values, nlags=MAX_LAG, fft=False, adjusted=False)


def facts(s, price="price", horizon=1):
    prices = s[price][::horizon]
    returns = np.diff(np.log(prices))
    size = np.abs(returns)
    blocks = (len(s["price"]) - 1) // horizon
    over = lambda name: s[name][1 : 1 + blocks * horizon].reshape(blocks, horizon).sum(axis=1)
    result = {
        "returns.count": float(len(returns)),
        "returns.mean": returns.mean(),
        "returns.standard_deviation": returns.std(ddof=1),
        "returns.skewness": scipy.stats.skew(returns),
        "returns.excess_kurtosis": scipy.stats.kurtosis(returns),
        "tail_index.both": hill(size),
        "tail_index.lower": hill(-returns),
        "tail_index.upper": hill(returns),
    }
    kinds = {"returns": returns, "absolute": size, "squared": returns**2}
    rho = {name: correlations(values) for name, values in kinds.items()}
    for name in kinds:
        for lag in LAGS:
            result[f"autocorrelation.{name}.{lag}"] = rho[name][lag]
    test = acorr_ljungbox(size, lags=[10])
    result["clustering.ljung_box"] = test["lb_stat"].iloc[0]
    result["clustering.p_value"] = test["lb_pvalue"].iloc[0]
    end = next(lag for lag in range(1, MAX_LAG + 2) if lag > MAX_LAG or rho["absolute"][lag] <= 0)
    lags = np.arange(1, end)
    decay = [math.nan] * 3
    if len(lags) >= 3:
        fit = scipy.stats.linregress(np.log(lags), np.log(rho["absolute"][1:end]))
        decay = [-fit.slope, float(len(lags)), fit.rvalue**2]
    for name, value in zip(["decay", "decay_lags", "decay_r_squared"], decay):
        result[f"clustering.{name}"] = value
    result["volume.mean"] = s["volume"].mean()
    result["volume.volatility_correlation"] = scipy.stats.pearsonr(over("volume"), size).statistic
    spread = s["best_ask"] - s["best_bid"]
    middle = (s["best_ask"] + s["best_bid"]) / 2
    result["spread.quoted"] = np.nanmean(spread)
    result["spread.relative"] = np.nanmean(spread / middle) * 1e4
    result["spread.two_sided"] = np.isfinite(spread).mean()
    result["depth.bid"] = s["bid_volume"].mean()
    result["depth.ask"] = s["ask_volume"].mean()
    imbalance = (s["bid_volume"] - s["ask_volume"]) / (s["bid_volume"] + s["ask_volume"])
    result["imbalance.mean"] = imbalance.mean()
    result["imbalance.absolute"] = np.abs(imbalance).mean()
    result["imbalance.foretells"] = np.corrcoef(imbalance[:-1], np.diff(s["mid"]))[0, 1]
    model = sm.OLS(np.diff(s["mid"][::horizon]), sm.add_constant(over("signed_volume"))).fit()
    result["impact.lambda"] = model.params[1]
    result["impact.standard_error"] = model.bse[1]
    result["impact.r_squared"] = model.rsquared
    gap = s["price"] - s["fundamental"]
    result["deviation.mean_absolute"] = np.abs(gap).mean()
    result["deviation.root_mean_square"] = math.sqrt(np.mean(gap**2))
    result["deviation.relative_absolute"] = np.mean(np.abs(gap) / s["fundamental"])
    result["deviation.relative"] = np.mean(gap / s["fundamental"])
    return result, rho


def bands(runs):
    result = {}
    for key in runs[0]:
        values = np.array([run[key] for run in runs])
        values = values[np.isfinite(values)]
        error = scipy.stats.sem(values)
        half = scipy.stats.t.ppf(0.975, len(values) - 1) * error
        low, high = values.mean() - half, values.mean() + half
        result[key] = [values.mean(), values.std(ddof=1), error, low, high]
    return result


def without_nan(value):
    """JSON has no NaN: null stands for it."""
    if isinstance(value, dict):
        return {key: without_nan(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [without_nan(inner) for inner in value]
    return None if math.isnan(value) else float(value)


def main():
    seeds = [1, 2, 3]
    made = {seed: series(seed) for seed in seeds}
    runs, correlograms = {}, None
    for seed in seeds:
        runs[seed], rho = facts(made[seed])
        correlograms = correlograms or {name: list(values) for name, values in rho.items()}
    student = {
        f"{probability} {degrees}": scipy.stats.t.ppf(probability, degrees)
        for probability in [0.75, 0.95, 0.975, 0.995]
        for degrees in [1, 2, 3, 4, 9, 10, 99, 1000]
    }
    document = {
        "last": {seed: {name: s[name][-1] for name in s} for seed, s in made.items()},
        "facts": runs,
        "facts_of_mid_over_5_steps": facts(made[1], "mid", 5)[0],
        "correlograms_of_seed_1": correlograms,
        "bands": bands(list(runs.values())),
        "student": student,
    }
    path = Path(__file__).resolve().parent.parent / "tests/data/reference.json"
    document = without_nan(document)
    path.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
