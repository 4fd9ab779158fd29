//! Cards in use and Pods that wait over time, as SVG.

use std::fmt::Write as _;

use super::{duration, float, top};
use crate::simulate::outcome::{Outcome, Point};

/// Where the curves are, in units of the picture.
const LEFT: f64 = 64.0;
const TOP: f64 = 56.0;
const WIDTH: f64 = 712.0;
const HEIGHT: f64 = 240.0;
const CARDS: &str = "#08775a";
const WAITING: &str = "#b34700";
/// Most marks on the axis of time.
const MARKS: f64 = 8.0;
/// Distances between marks, in seconds: those that people count time in. Longer ones are whole weeks.
const STEPS: [f64; 22] = [
    1.0,
    2.0,
    5.0,
    10.0,
    15.0,
    30.0,
    60.0,
    120.0,
    300.0,
    600.0,
    900.0,
    1800.0,
    3600.0,
    7200.0,
    10_800.0,
    21_600.0,
    43_200.0,
    86_400.0,
    172_800.0,
    345_600.0,
    604_800.0,
    1_209_600.0,
];

/// Cards in use and Pods that wait over time, as SVG.
pub fn svg(outcome: &Outcome) -> String {
    let mut page = head(outcome);
    if outcome.curve.is_empty() {
        let middle = (LEFT + WIDTH / 2.0, TOP + HEIGHT / 2.0);
        text(&mut page, middle, "middle", "#555", "all Pods came at once: there is no curve");
    } else {
        draw(&mut page, outcome);
    }
    page.push_str("</svg>\n");
    page
}

fn head(outcome: &Outcome) -> String {
    let summary = format!(
        "{:.0} cards, in use {:.1} % on average and {:.1} % at most; {} Pods",
        outcome.cards, outcome.allocation_percent, outcome.peak_percent, outcome.pods
    );
    format!(
        r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 840 340" font-family="sans-serif" font-size="12" role="img">
<title>Cards in use and Pods that wait over time</title>
<desc>{summary}</desc>
<rect width="840" height="340" fill="white"/>
<rect x="64" y="14" width="16" height="10" fill="{CARDS}" fill-opacity="0.25" stroke="{CARDS}"/>
<text x="86" y="23" fill="{CARDS}">cards in use</text>
<path d="M180 19h16" stroke="{WAITING}" stroke-width="2"/>
<text x="202" y="23" fill="{WAITING}">Pods that wait</text>
<text x="776" y="23" text-anchor="end" fill="#555">{summary}</text>
"##
    )
}

fn draw(page: &mut String, outcome: &Outcome) {
    let curve = &outcome.curve;
    let longest = curve.last().map_or(1.0, |point| point.at.max(f64::MIN_POSITIVE));
    let percent = top(curve.iter().map(|point| point.allocation_percent).fold(0.0, f64::max));
    let most = round_top(curve.iter().map(|point| point.waiting).max().unwrap_or(0));
    grid(page, percent, most);
    marks(page, longest);
    let across = |seconds: f64| LEFT + seconds / longest * WIDTH;
    let up = |part: f64| TOP + (1.0 - part.clamp(0.0, 1.0)) * HEIGHT;
    let steps = |value: &dyn Fn(&Point) -> f64| {
        let mut path = String::new();
        let mut from = LEFT;
        for point in curve {
            // Each point is about the time since the one before it.
            let (to, height) = (across(point.at), up(value(point)));
            // Writing to a String cannot fail, here and below.
            let _ = write!(path, "{}{from:.1} {height:.1}H{to:.1}", if path.is_empty() { "M" } else { "L" });
            from = to;
        }
        path
    };
    let cards = steps(&|point| point.allocation_percent / percent);
    let waiting = steps(&|point| float(point.waiting) / float(most));
    let bottom = TOP + HEIGHT;
    let _ = write!(
        page,
        r#"<path d="{cards}V{bottom}H{LEFT}Z" fill="{CARDS}" fill-opacity="0.15"/>
<path d="{cards}" fill="none" stroke="{CARDS}" stroke-width="1.5" stroke-linejoin="round"/>
<path d="{waiting}" fill="none" stroke="{WAITING}" stroke-width="1.5" stroke-linejoin="round"/>
"#
    );
}

/// Lines across, with what they stand for on either side.
fn grid(page: &mut String, percent: f64, most: usize) {
    for quarter in 0..=4u8 {
        let part = f64::from(quarter) / 4.0;
        let y = TOP + (1.0 - part) * HEIGHT;
        let colour = if quarter == 0 { "#888" } else { "#ddd" };
        let _ = writeln!(page, r#"<path d="M{LEFT} {y}h{WIDTH}" stroke="{colour}"/>"#);
        text(page, (LEFT - 8.0, y + 4.0), "end", CARDS, &format!("{} %", percent * part));
        text(page, (LEFT + WIDTH + 8.0, y + 4.0), "start", WAITING, &format!("{}", float(most) * part));
    }
}

/// The axis of time.
fn marks(page: &mut String, longest: f64) {
    let bottom = TOP + HEIGHT;
    let step = STEPS.into_iter().find(|step| longest / step <= MARKS);
    let step = step.unwrap_or_else(|| (longest / MARKS / 604_800.0).ceil() * 604_800.0);
    let mut at = 0.0;
    while at <= longest {
        let x = LEFT + at / longest * WIDTH;
        let _ = writeln!(page, r##"<path d="M{x:.1} {bottom}v5" stroke="#888"/>"##);
        text(page, (x, bottom + 20.0), "middle", "#333", &mark(at, step));
        at += step;
    }
    let end = format!("ends after {}", duration(longest));
    text(page, (LEFT + WIDTH, bottom + 38.0), "end", "#555", &end);
}

/// A moment in the largest unit in which all marks are whole.
fn mark(seconds: f64, step: f64) -> String {
    let units = [(86_400.0, "d"), (3600.0, "h"), (60.0, "min"), (1.0, "s")];
    let (unit, name) = units.into_iter().find(|(unit, _)| step % unit == 0.0).unwrap_or((1.0, "s"));
    format!("{} {name}", seconds / unit)
}

/// The number at the upper end: a round one that all fit under and that can be quartered.
fn round_top(most: usize) -> usize {
    let mut ten = 1;
    loop {
        if let Some(round) = [4, 8, 20].into_iter().map(|digit| digit * ten).find(|round| most <= *round) {
            return round;
        }
        ten *= 10;
    }
}

fn text(page: &mut String, (x, y): (f64, f64), anchor: &str, colour: &str, words: &str) {
    let _ = writeln!(
        page,
        r#"<text x="{x:.1}" y="{y:.1}" text-anchor="{anchor}" fill="{colour}">{words}</text>"#
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_of_axes_are_round() {
        let rows = [(0, 4), (4, 4), (5, 8), (9, 20), (21, 40), (76, 80), (100, 200), (3999, 4000)];
        for (most, want) in rows {
            assert_eq!(round_top(most), want, "{most}");
        }
    }

    #[test]
    fn marks_are_whole_in_their_unit() {
        let rows = [
            (7200.0, 1800.0, "120 min"),
            (7200.0, 3600.0, "2 h"),
            (30.0, 5.0, "30 s"),
            (0.0, 86_400.0, "0 d"),
        ];
        for (at, step, want) in rows {
            assert_eq!(mark(at, step), want);
        }
    }
}
