//! The look that all charts share: sizes, colours, title, legend, axes.
//!
//! Colours are those of Okabe and Ito, which people with any kind of colour vision can tell apart. What
//! has to be told apart also differs in line style or marker, so that a grey print is enough.

use std::ops::Range;

use plotters::coord::Shift;
use plotters::coord::ranged1d::{AsRangedCoord, Ranged, ValueFormatter};
use plotters::prelude::*;

use crate::error::Error;

pub(super) const WIDTH: u32 = 960;
pub(super) const HEIGHT: u32 = 380;

pub(super) const BLUE: RGBColor = RGBColor(0x00, 0x72, 0xb2);
pub(super) const VERMILION: RGBColor = RGBColor(0xd5, 0x5e, 0x00);
pub(super) const GREY: RGBColor = RGBColor(0x66, 0x66, 0x66);
const LIGHT: RGBColor = RGBColor(0xdd, 0xdd, 0xdd);

pub(super) const TEXT: u32 = 14;
const TITLE: u32 = 19;
/// Title and legend together.
const HEAD: u32 = 58;
const LEGEND_HEIGHT: i32 = 44;

pub(super) type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
pub(super) type Plot<'a, 'b, X, Y> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<X, Y>>;

/// How a row of the legend looks.
#[derive(Clone, Copy, Debug)]
pub(super) enum Sample {
    Line(RGBColor),
    Dashes(RGBColor),
    Dots(RGBColor),
    Bar(RGBColor),
    Circle(RGBColor),
    Cross(RGBColor),
    Triangle(RGBColor),
}

/// What stands around a plot.
#[derive(Debug)]
pub(super) struct Frame<'a> {
    pub(super) title: &'a str,
    pub(super) x: &'a str,
    pub(super) y: &'a str,
    pub(super) legend: &'a [(Sample, &'a str)],
}

/// Makes a picture: `draw` gets the whole of it.
pub(super) fn picture(
    title: &str,
    draw: impl FnOnce(&Area<'_>) -> Result<(), Error>,
) -> Result<String, Error> {
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, (WIDTH, HEIGHT)).into_drawing_area();
        area.fill(&WHITE).map_err(|error| Error::drawing(&error))?;
        draw(&area)?;
        area.present().map_err(|error| Error::drawing(&error))?;
    }
    // Those who can't see the picture get its title.
    let label = super::escaped(title);
    Ok(svg.replacen("<svg ", &format!("<svg role=\"img\" aria-label=\"{label}\" "), 1))
}

/// Draws title, legend and axes on `area`.
pub(super) fn plot<'a, 'b, X, Y>(
    area: &'a Area<'b>,
    frame: &Frame<'_>,
    x: X,
    y: Y,
) -> Result<Plot<'a, 'b, X::CoordDescType, Y::CoordDescType>, Error>
where
    X: AsRangedCoord<Value = f64>,
    Y: AsRangedCoord<Value = f64>,
    X::CoordDescType: ValueFormatter<f64> + Ranged<ValueType = f64>,
    Y::CoordDescType: ValueFormatter<f64> + Ranged<ValueType = f64>,
{
    head(area, frame)?;
    let mut plot = ChartBuilder::on(area)
        .margin_top(HEAD)
        .margin_right(20)
        .margin_bottom(6)
        .margin_left(6)
        .x_label_area_size(46)
        .y_label_area_size(82)
        .build_cartesian_2d(x, y)
        .map_err(|error| Error::drawing(&error))?;
    plot.configure_mesh()
        .max_light_lines(0)
        .bold_line_style(LIGHT)
        .axis_style(GREY)
        .label_style(("sans-serif", TEXT))
        .axis_desc_style(("sans-serif", TEXT))
        .x_desc(frame.x)
        .y_desc(frame.y)
        .x_label_formatter(&|value| number(*value))
        .y_label_formatter(&|value| number(*value))
        .draw()
        .map_err(|error| Error::drawing(&error))?;
    Ok(plot)
}

fn head(area: &Area<'_>, frame: &Frame<'_>) -> Result<(), Error> {
    let style = TextStyle::from(("sans-serif", TITLE).into_font()).color(&BLACK);
    area.draw(&Text::new(frame.title, (16, 10), style)).map_err(|error| Error::drawing(&error))?;
    let mut left = 16;
    for (sample, label) in frame.legend {
        draw_sample(area, *sample, left)?;
        let style = TextStyle::from(("sans-serif", TEXT).into_font()).color(&BLACK);
        let place = (left + 38, LEGEND_HEIGHT - 8);
        area.draw(&Text::new(*label, place, style)).map_err(|error| Error::drawing(&error))?;
        left += 38 + text_width(label) + 22;
    }
    Ok(())
}

fn draw_sample(area: &Area<'_>, sample: Sample, left: i32) -> Result<(), Error> {
    let (right, middle) = (left + 30, LEGEND_HEIGHT);
    let centre = (left + 15, middle);
    let stroke = |color: RGBColor| color.stroke_width(2);
    let line = |style| PathElement::new(vec![(left, middle), (right, middle)], style);
    let drawn = match sample {
        Sample::Line(color) => area.draw(&line(stroke(color))),
        Sample::Dashes(color) => (0..3).try_for_each(|dash| {
            let begin = left + 11 * dash;
            area.draw(&PathElement::new(vec![(begin, middle), (begin + 7, middle)], stroke(color)))
        }),
        Sample::Dots(color) => (0..5).try_for_each(|dot| {
            let begin = left + 6 * dot;
            area.draw(&PathElement::new(vec![(begin, middle), (begin + 2, middle)], stroke(color)))
        }),
        Sample::Bar(color) => area.draw(&Rectangle::new(
            [(left + 8, middle - 7), (right - 8, middle + 6)],
            color.filled(),
        )),
        Sample::Circle(color) => area
            .draw(&line(color.stroke_width(1)))
            .and_then(|()| area.draw(&Circle::new(centre, 4, color.filled()))),
        Sample::Cross(color) => area
            .draw(&line(color.stroke_width(1)))
            .and_then(|()| area.draw(&Cross::new(centre, 5, color.stroke_width(2)))),
        Sample::Triangle(color) => area
            .draw(&line(color.stroke_width(1)))
            .and_then(|()| area.draw(&TriangleMarker::new(centre, 5, color.filled()))),
    };
    drawn.map_err(|error| Error::drawing(&error))
}

/// About how many pixels a text is wide. Nobody knows before a browser has chosen the font; this is right
/// for a wide one.
pub(super) fn text_width(text: &str) -> i32 {
    let letters = i32::try_from(text.chars().count()).unwrap_or(i32::MAX / 100);
    letters * TEXT.cast_signed() * 6 / 10
}

/// A number on an axis: as short as it can be.
pub(super) fn number(value: f64) -> String {
    let size = value.abs();
    if size < 1e-12 {
        return "0".to_owned();
    }
    if !(1e-3..1e7).contains(&size) {
        return format!("{value:.2e}").replace(".00e", "e").replacen(
            '-',
            "\u{2212}",
            usize::from(value < 0.0),
        );
    }
    let text = format!("{value:.4}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    text.replacen('-', "\u{2212}", 1)
}

/// The range of all finite values with some room around; from 0 to 1 if there is none.
pub(super) fn range<'a>(columns: impl IntoIterator<Item = &'a [f64]>) -> Range<f64> {
    let values = columns.into_iter().flat_map(crate::statistics::finite);
    let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
        (low.min(value), high.max(value))
    });
    if low > high {
        return 0.0..1.0;
    }
    // A line that never moves stands in the middle.
    let room = if high > low { 0.06 * (high - low) } else { (0.05 * high.abs()).max(0.5) };
    low - room..high + room
}
