//! Charts, page and sheet.

use pams_facts::{
    Chart, DepthLevel, Facts, Mark, MarketReport, MarketSeries, Options, Report, Side, bands,
};

use crate::series::series;

const ALL: [&str; 7] =
    ["prices", "volume", "spread", "depth", "returns", "distribution", "autocorrelation"];

fn report() -> Report {
    let series = series(1);
    let mut depth = Vec::new();
    for (step, mid) in series.step.iter().zip(&series.mid) {
        for level in 1..6 {
            let away = 0.3 * f64::from(level);
            let volume = f64::from(level);
            depth.push(DepthLevel { step: *step, side: Side::Bid, price: mid - away, volume });
            depth.push(DepthLevel { step: *step, side: Side::Ask, price: mid + away, volume });
        }
    }
    let marks = vec![
        Mark { step: 0, label: "session warm-up".to_owned() },
        Mark { step: 100, label: "shock <1>".to_owned() },
    ];
    Report {
        title: "A & B".to_owned(),
        about: vec![("seed".to_owned(), "1".to_owned())],
        markets: vec![MarketReport { series, depth, marks }],
    }
}

fn names(charts: &[Chart]) -> Vec<&str> {
    charts.iter().map(|chart| chart.name).collect()
}

#[test]
fn everything_that_was_recorded_is_drawn() {
    let charts = report().charts(&Options::default()).expect("charts");
    assert_eq!(names(&charts), ALL);
    for chart in &charts {
        assert!(chart.svg.starts_with("<svg role=\"img\" aria-label=\"made: "), "{}", chart.name);
        assert!(chart.svg.contains(&chart.title) && !chart.svg.contains("NaN"), "{}", chart.name);
        assert!(chart.caption.ends_with('.'));
    }
    assert!(charts[0].svg.contains("shock &lt;1&gt;"));
    assert!(
        charts[0].svg.contains("price (price units)") && charts[0].svg.contains("time (steps)")
    );
}

#[test]
fn what_was_not_recorded_is_left_out() {
    let draw = |series| {
        let markets = vec![MarketReport { series, ..MarketReport::default() }];
        let report = Report { markets, ..Report::default() };
        report.charts(&Options::default()).expect("charts")
    };
    let prices = vec![300.0, 301.0, 299.0, 300.0, 302.0];
    assert_eq!(
        names(&draw(MarketSeries::from_prices("a", prices))),
        ["prices", "returns", "distribution", "autocorrelation"]
    );
    assert_eq!(names(&draw(MarketSeries::from_prices("a", vec![300.0; 9]))), ["prices", "returns"]);
    assert_eq!(names(&draw(MarketSeries::from_prices("a", vec![300.0]))), ["prices"]);
    assert_eq!(names(&draw(MarketSeries::from_prices("a", vec![f64::NAN; 9]))), [] as [&str; 0]);
    assert_eq!(names(&draw(MarketSeries::default())), [] as [&str; 0]);
}

/// A picture has about a thousand columns of pixels, so a long run must not make a larger file.
#[test]
fn a_long_run_makes_no_larger_picture() {
    let draw = |n: u32| {
        let prices: Vec<f64> = (0..n).map(|i| 300.0 + f64::from(i * 31 % 17)).collect();
        let markets = vec![MarketReport {
            series: MarketSeries::from_prices("a", prices),
            ..MarketReport::default()
        }];
        let report = Report { markets, ..Report::default() };
        report.charts(&Options::default()).expect("charts")[0].svg.len()
    };
    assert!(draw(200_000) < 2 * draw(1500));
}

#[test]
fn a_peak_of_one_step_is_not_lost() {
    let mut prices = vec![300.0; 100_000];
    prices[77_777] = 900.0;
    let markets = vec![MarketReport {
        series: MarketSeries::from_prices("a", prices),
        ..MarketReport::default()
    }];
    let charts =
        Report { markets, ..Report::default() }.charts(&Options::default()).expect("charts");
    // The line is the only one in its colour that has many points.
    let line = charts[0].svg.lines().find(|line| line.len() > 2000).expect("a line");
    let heights: Vec<&str> =
        line.split([' ', '"']).filter_map(|pair| pair.split_once(',')).map(|pair| pair.1).collect();
    assert!(heights.iter().any(|height| height != &heights[0]), "a flat line");
}

#[test]
fn the_page_has_charts_and_facts_and_loads_nothing() {
    let report = report();
    let options = Options::default();
    let charts = report.charts(&options).expect("charts");
    let facts = [1, 2].map(|seed| Facts::of(&series(seed), &options).expect("facts"));
    let bands = vec![("made".to_owned(), bands(&facts, 0.95))];
    let page = report.page(&charts, &facts[..1], &bands);
    assert_eq!(page.matches("<figure>").count(), ALL.len());
    assert!(page.contains("<title>A &amp; B</title>") && page.contains("<dt>seed</dt><dd>1</dd>"));
    assert!(page.contains("<td>returns.skewness</td>") && page.contains("mean over runs"));
    let without_namespace = page.replace("http://www.w3.org/2000/svg", "");
    for loading in ["http:", "https:", "src=", "url(", "<script", "<link", "@import"] {
        assert!(!without_namespace.contains(loading), "{loading}");
    }
    let alone = report.page(&charts, &facts[..1], &[]);
    assert!(!alone.contains("mean over runs"));
}

#[cfg(feature = "png")]
mod png {
    use pams_facts::{ErrorKind, Options, png};
    use resvg::tiny_skia::Pixmap;

    use super::report;

    fn dark_pixels(svg: &str) -> usize {
        let pixels = Pixmap::decode_png(&png(svg, 0.5).expect("a picture")).expect("a PNG");
        pixels.pixels().iter().filter(|pixel| pixel.red() < 128 && pixel.alpha() == 255).count()
    }

    /// A picture without its words is what a machine without fonts would make.
    #[test]
    fn words_are_painted_whatever_fonts_the_machine_has() {
        let svg = |text: &str| {
            format!(
                "<svg width=\"200\" height=\"40\" xmlns=\"http://www.w3.org/2000/svg\">\
                 <rect width=\"200\" height=\"40\" fill=\"#fff\"/>\
                 <text x=\"5\" y=\"30\" font-family=\"sans-serif\" font-size=\"24\">{text}</text></svg>"
            )
        };
        assert_eq!(dark_pixels(&svg("")), 0);
        for text in ["Price", "\u{2212}", "\u{221a}", "\u{b1}", "\u{e9}", "\u{3b2}"] {
            assert!(dark_pixels(&svg(text)) > 5, "{text}");
        }
    }

    #[test]
    fn every_chart_and_the_sheet_can_be_painted() {
        let report = report();
        let charts = report.charts(&Options::default()).expect("charts");
        for chart in &charts {
            assert!(dark_pixels(&chart.svg) > 100, "{}", chart.name);
        }
        let sheet = report.sheet(&charts);
        let painted = png(&sheet, 0.5).expect("a picture");
        assert_eq!(painted, png(&sheet, 0.5).expect("a picture"), "the same picture twice");
        let height = Pixmap::decode_png(&painted).expect("a PNG").height();
        assert!(usize::try_from(height).expect("small") > 190 * charts.len());
    }

    #[test]
    fn what_is_no_svg_is_refused() {
        assert_eq!(png("<html>", 1.0).expect_err("no SVG").kind(), ErrorKind::Drawing);
        let svg = "<svg width=\"9\" height=\"9\" xmlns=\"http://www.w3.org/2000/svg\"/>";
        assert_eq!(png(svg, 0.0).expect_err("no pixels").kind(), ErrorKind::Drawing);
    }
}
