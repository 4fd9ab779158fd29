//! Cards as flags ask for them, for jobs and workspaces alike.

use serde_json::{Value, json};

use super::failure::Failure;

/// What was asked for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cards<'a> {
    /// So many whole ones.
    pub(crate) whole: Option<i32>,
    /// A part of one: a number below one, or memory.
    pub(crate) part: Option<&'a str>,
    /// Only those of these numbers.
    pub(crate) numbers: &'a [u16],
}

impl Cards<'_> {
    /// What stands in the object; nothing if no cards are asked for. `part` is the flag for a part.
    pub(crate) fn value(&self, part: &str) -> Result<Option<Value>, Failure> {
        let mut numbers = self.numbers.to_vec();
        numbers.sort_unstable();
        numbers.dedup();
        if numbers.len() != self.numbers.len() {
            return Err(Failure::usage("--gpu-index names a card twice"));
        }
        match (self.whole, self.part) {
            (None, None) if numbers.is_empty() => Ok(None),
            (None, Some(amount)) => {
                let field = if amount.ends_with('i') { "memory" } else { "share" };
                let mut cards = json!({ field: amount });
                match numbers[..] {
                    [] => {}
                    [index] => cards["index"] = index.into(),
                    _ => return Err(Failure::usage(format!("{part} is of one card: --gpu-index names one"))),
                }
                Ok(Some(cards))
            }
            (whole, _) => {
                let named = i32::try_from(numbers.len()).unwrap_or(i32::MAX);
                let count = whole.unwrap_or(named);
                if named != 0 && named != count {
                    let why = format!("--gpu-index names {named} cards, and --gpus asks for {count}");
                    return Err(Failure::usage(why));
                }
                let mut cards = json!({ "count": count });
                if named > 0 {
                    cards["indices"] = json!(numbers);
                }
                Ok(Some(cards))
            }
        }
    }
}
