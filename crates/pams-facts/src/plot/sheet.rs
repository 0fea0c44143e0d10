//! All charts in one SVG.

use std::fmt::Write;

use super::canvas::{HEIGHT, WIDTH};
use super::{Chart, escaped};

const HEAD: usize = 56;
const GAP: usize = 12;

pub(super) fn sheet(title: &str, charts: &[Chart]) -> String {
    let pitch = HEIGHT as usize + GAP;
    let height = HEAD + charts.len() * pitch;
    let mut svg = format!(
        "<svg width=\"{WIDTH}\" height=\"{height}\" viewBox=\"0 0 {WIDTH} {height}\" \
         xmlns=\"http://www.w3.org/2000/svg\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n\
         <text x=\"16\" y=\"36\" font-family=\"sans-serif\" font-size=\"24\">{}</text>\n",
        escaped(title)
    );
    for (i, chart) in charts.iter().enumerate() {
        let y = HEAD + i * pitch;
        let place = format!("<svg x=\"0\" y=\"{y}\" ");
        let _ = writeln!(svg, "{}", chart.svg.replacen("<svg ", &place, 1));
    }
    svg.push_str("</svg>\n");
    svg
}
