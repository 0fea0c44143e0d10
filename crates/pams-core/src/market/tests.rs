//! Values of prices, matching and time to live.
