//! The curve of a run as a picture: for a terminal, and as SVG.

use std::fmt::Write as _;

use super::outcome::{Outcome, Point};

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

/// Cards in use and Pods that wait over time, as SVG.
pub fn svg(outcome: &Outcome) -> String {
    let (width, height) = (720.0, 240.0);
    let longest = outcome.curve.last().map_or(1.0, |point| point.at.max(1.0));
    let most = outcome.curve.iter().map(|point| point.waiting).max().unwrap_or(0).max(1);
    let line = |value: &dyn Fn(&Point) -> f64| {
        let at = |point: &Point| {
            format!("{:.1},{:.1}", 60.0 + point.at / longest * width, 20.0 + (1.0 - value(point)) * height)
        };
        outcome.curve.iter().map(at).collect::<Vec<_>>().join(" ")
    };
    let cards = line(&|point| point.allocation_percent / 100.0);
    let waiting = line(&|point| float(point.waiting) / float(most));
    format!(
        r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 840 310" font-family="sans-serif" font-size="12">
<title>Cards in use and Pods that wait</title>
<rect width="840" height="310" fill="white"/>
<path d="M60 20V260H780M60 140H780M60 20H780" fill="none" stroke="#bbb"/>
<polyline points="{cards}" fill="none" stroke="#0a6" stroke-width="2"/>
<polyline points="{waiting}" fill="none" stroke="#c50" stroke-width="1.5" stroke-dasharray="4 3"/>
<text x="54" y="24" text-anchor="end">100 %</text><text x="54" y="144" text-anchor="end">50 %</text>
<text x="54" y="264" text-anchor="end">0 %</text><text x="786" y="24">{most}</text><text x="786" y="264">0</text>
<text x="60" y="280">0</text><text x="780" y="280" text-anchor="end">{end}</text>
<text x="60" y="300" fill="#0a6">cards in use</text><text x="160" y="300" fill="#c50">Pods that wait</text>
</svg>
"##,
        end = duration(outcome.seconds)
    )
}
