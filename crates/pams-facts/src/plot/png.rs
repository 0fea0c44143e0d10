//! SVG to PNG.

use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree};

use crate::error::Error;

/// A part of `DejaVu Sans`: Latin, Greek and the signs of charts. The fonts of a system differ, and a machine
/// without any would make pictures without words.
const FONT: &[u8] = include_bytes!("../../assets/DejaVuSans-subset.ttf");

/// Paints an SVG of this crate as PNG, `scale` pixels for one of its units.
///
/// 2 is right for a page, 4 for print. All text is set in `DejaVu Sans`, which is part of this crate, so a
/// picture is the same on every machine; letters that it does not have are left out.
///
/// # Errors
///
/// If `svg` is no SVG, or the picture would be empty or does not fit into memory.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "sizes of pictures")]
pub fn png(svg: &str, scale: f32) -> Result<Vec<u8>, Error> {
    let mut options = Options { font_family: "DejaVu Sans".to_owned(), ..Options::default() };
    let fonts = options.fontdb_mut();
    fonts.load_font_data(FONT.to_vec());
    fonts.set_sans_serif_family("DejaVu Sans");
    let tree = Tree::from_str(svg, &options).map_err(|error| Error::drawing(&error))?;
    let size = tree.size();
    let (width, height) = (size.width() * scale, size.height() * scale);
    let too_large = || Error::drawing(&format!("{width} by {height} pixels are not possible"));
    let mut pixels =
        Pixmap::new(width.ceil() as u32, height.ceil() as u32).ok_or_else(too_large)?;
    resvg::render(&tree, Transform::from_scale(scale, scale), &mut pixels.as_mut());
    pixels.encode_png().map_err(|error| Error::drawing(&error))
}
