//! One HTML page with everything, which loads nothing.

use std::fmt::Write;

use super::{Chart, Report, escaped};
use crate::bands::Band;
use crate::facts::{Facts, show};

const STYLE: &str = "\
body{font-family:sans-serif;color:#111;background:#fff;max-width:62rem;margin:0 auto;padding:1rem;line-height:1.45}\
h1{font-size:1.6rem}h2{font-size:1.3rem;border-bottom:2px solid #111;padding-bottom:.2rem;margin-top:2.5rem}\
figure{margin:1.2rem 0;break-inside:avoid}figure svg{width:100%;height:auto;border:1px solid #ddd}\
figcaption{font-size:.9rem;color:#444}\
dl{display:grid;grid-template-columns:max-content 1fr;gap:.15rem 1rem;font-size:.9rem}\
dt{color:#444}dd{margin:0;overflow-wrap:anywhere}\
table{border-collapse:collapse;font-size:.9rem}th,td{padding:.2rem .8rem .2rem 0;text-align:left;border-bottom:1px solid #ddd}\
td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}\
@media print{body{max-width:none}a{color:inherit}}";

pub(super) fn page(
    report: &Report,
    charts: &[Chart],
    facts: &[Facts],
    bands: &[(String, Vec<Band>)],
) -> String {
    let title = escaped(&report.title);
    let mut html = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" \
         content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>\n<dl>\n"
    );
    for (name, value) in &report.about {
        let _ = writeln!(html, "<dt>{}</dt><dd>{}</dd>", escaped(name), escaped(value));
    }
    html.push_str("</dl>\n");
    for market in &report.markets {
        let name = market.series.name.as_str();
        let _ = writeln!(html, "<h2>{}</h2>", escaped(name));
        for chart in charts.iter().filter(|chart| chart.market == name) {
            figure(&mut html, chart);
        }
        for facts in facts.iter().filter(|facts| facts.market == name) {
            let bands = bands.iter().find(|(market, _)| market == name);
            table(&mut html, facts, bands.map_or(&[], |(_, bands)| bands));
        }
    }
    html.push_str("</body>\n</html>\n");
    html
}

fn figure(html: &mut String, chart: &Chart) {
    // An XML declaration, if there is one, has no place inside a page.
    let svg = &chart.svg[chart.svg.find("<svg").unwrap_or_default()..];
    let caption = escaped(&chart.caption);
    let _ = writeln!(html, "<figure>\n{svg}\n<figcaption>{caption}</figcaption>\n</figure>");
}

fn table(html: &mut String, facts: &Facts, bands: &[Band]) {
    let over_runs = if bands.is_empty() {
        ""
    } else {
        "<th class=\"n\">mean over runs</th><th class=\"n\">confidence interval</th>"
    };
    let _ = writeln!(
        html,
        "<h3>Facts</h3>\n<table>\n<tr><th>fact</th><th class=\"n\">this run</th>{over_runs}<th>unit</th></tr>"
    );
    for fact in &facts.facts {
        let mut row = format!("<td>{}</td><td class=\"n\">{}</td>", fact.key, show(fact.value));
        if let Some(band) = bands.iter().find(|band| band.key == fact.key) {
            let (low, high) = (show(band.low), show(band.high));
            let mean = show(band.mean);
            let _ = write!(row, "<td class=\"n\">{mean}</td><td class=\"n\">{low} to {high}</td>");
        } else if !bands.is_empty() {
            row.push_str("<td></td><td></td>");
        }
        let _ = writeln!(html, "<tr>{row}<td>{}</td></tr>", fact.unit);
    }
    html.push_str("</table>\n");
}
