//! The curve of a run as a picture: for a terminal, and as SVG.

mod svg;

use std::fmt::Write as _;

use super::outcome::{Outcome, Point};

pub use svg::svg;

const EIGHTHS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Cards in use over time, as lines of text. The upper end is at 100 % only where it has to be.
pub fn text(outcome: &Outcome, width: usize, height: usize) -> String {
    let columns = columns(&outcome.curve, width);
    let top = top(columns.iter().copied().fold(0.0, f64::max));
    let mut page = String::new();
    for row in (0..height).rev() {
        let label = if row + 1 == height {
            format!("{top:>3} %")
        } else if row == 0 {
            "  0 %".to_owned()
        } else {
            "     ".to_owned()
        };
        let bar: String =
            columns.iter().map(|percent| EIGHTHS[eighths(*percent * 100.0 / top, row, height)]).collect();
        // Writing to a String cannot fail, here and below.
        let _ = writeln!(page, "{label} │{}", bar.trim_end());
    }
    let end = duration(outcome.seconds);
    let _ = writeln!(page, "      └{}", "─".repeat(columns.len()));
    let _ = writeln!(page, "       0{end:>rest$}", rest = columns.len().saturating_sub(1));
    page
}

/// The percentage at the upper end: a round one that all columns fit under, so that an idle cluster has a curve, too.
fn top(most: f64) -> f64 {
    let round = [1.0, 2.0, 5.0, 10.0, 20.0, 50.0];
    round.into_iter().find(|top| most <= *top).unwrap_or(100.0)
}

/// How many eighths of a row are filled.
fn eighths(percent: f64, row: usize, height: usize) -> usize {
    let filled = (percent.clamp(0.0, 100.0) / 100.0) * float(height * 8);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "from 0 to 8 times the height"
    )]
    let filled = filled.round() as usize;
    filled.saturating_sub(row * 8).min(8)
}

#[expect(clippy::cast_precision_loss, reason = "widths of pictures")]
fn float(number: usize) -> f64 {
    number as f64
}

/// The curve in so many columns, each the mean of its points.
fn columns(curve: &[Point], width: usize) -> Vec<f64> {
    let width = width.min(curve.len()).max(1);
    let part = |column: usize| &curve[curve.len() * column / width..curve.len() * (column + 1) / width];
    let mean = |points: &[Point]| {
        points.iter().map(|point| point.allocation_percent).sum::<f64>() / float(points.len().max(1))
    };
    (0..width).map(|column| mean(part(column))).collect()
}

/// A time for people.
pub fn duration(seconds: f64) -> String {
    match seconds {
        long if long >= 2.0 * 86400.0 => format!("{:.1} d", seconds / 86400.0),
        long if long >= 2.0 * 3600.0 => format!("{:.1} h", seconds / 3600.0),
        long if long >= 120.0 => format!("{:.1} min", seconds / 60.0),
        _ => format!("{seconds:.0} s"),
    }
}
