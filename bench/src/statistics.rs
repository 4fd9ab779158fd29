//! The middle of several rounds, and how far they lie apart.

use std::fmt;

use serde::Serialize;

/// What several rounds of one measurement gave.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Rounds(Vec<f64>);

impl Rounds {
    pub(crate) fn push(&mut self, figure: f64) {
        self.0.push(figure);
    }

    /// The middle one; the mean of the middle two of an even number; 0 of none.
    pub(crate) fn median(&self) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        match sorted.len() {
            0 => 0.0,
            count if count % 2 == 1 => sorted[count / 2],
            count => f64::midpoint(sorted[count / 2 - 1], sorted[count / 2]),
        }
    }

    fn least(&self) -> f64 {
        self.0.iter().copied().fold(f64::INFINITY, f64::min)
    }

    /// The worst, where less is better.
    pub(crate) fn most(&self) -> f64 {
        self.0.iter().copied().fold(0.0, f64::max)
    }

    /// Whether nothing was measured.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Display for Rounds {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_empty() {
            return formatter.pad("-");
        }
        let text = format!("{} [{}..{}]", short(self.median()), short(self.least()), short(self.most()));
        formatter.pad(&text)
    }
}

/// A figure with as many places as say something.
pub(crate) fn short(figure: f64) -> String {
    match figure.abs() {
        size if size >= 100.0 => format!("{figure:.0}"),
        size if size >= 10.0 => format!("{figure:.1}"),
        _ => format!("{figure:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rounds(figures: &[f64]) -> Rounds {
        Rounds(figures.to_vec())
    }

    #[test]
    fn the_median_is_the_middle() {
        assert!((rounds(&[3.0, 1.0, 100.0]).median() - 3.0).abs() < f64::EPSILON);
        assert!((rounds(&[4.0, 1.0, 2.0, 100.0]).median() - 3.0).abs() < f64::EPSILON);
        assert!(rounds(&[]).median().abs() < f64::EPSILON);
    }

    #[test]
    fn figures_are_as_long_as_they_say_something() {
        assert_eq!(rounds(&[1234.5, 20.04, 3.0]).to_string(), "20.0 [3.00..1234]");
        assert_eq!(rounds(&[]).to_string(), "-");
    }
}
