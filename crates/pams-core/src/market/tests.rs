//! Values of prices, matching and time to live.

mod expiry;
mod history;
mod matching;
mod prices;
