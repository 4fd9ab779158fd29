//! Answers that are kept until something changes.
//!
//! Many ask the same in a moment: pages that all heard of one change, and programs that look again and again. Of those who
//! see the same, the first has the answer made, and the others get its bytes.

use std::collections::HashMap;

use bytes::Bytes;
use parking_lot::Mutex;

use crate::access::Audience;

/// Answers that are kept together take at most so many bytes, and some for the way to each.
const KEPT: usize = 32 << 20;
const EACH: usize = 128;

/// Who asks what.
pub(crate) type Question = (Audience, String);

/// Answers as of one version of what they are made of.
#[derive(Debug, Default)]
pub(crate) struct Answers<V>(Mutex<State<V>>);

#[derive(Debug, Default)]
struct State<V> {
    version: V,
    answers: HashMap<Question, Bytes>,
    size: usize,
}

impl<V: Copy + PartialOrd> Answers<V> {
    /// The answer to a question, made at most once for each audience and version. `version` was read before what the answer
    /// is made of: it may be newer than it says, never older.
    pub(crate) fn get<E>(
        &self,
        version: V,
        question: Question,
        work_out: impl FnOnce() -> Result<Bytes, E>,
    ) -> Result<Bytes, E> {
        {
            let state = self.0.lock();
            if state.version == version
                && let Some(bytes) = state.answers.get(&question)
            {
                return Ok(bytes.clone());
            }
        }
        // Not under the lock: others have other questions.
        let bytes = work_out()?;
        let mut state = self.0.lock();
        // Who is late neither takes nor leaves anything.
        if state.version > version {
            return Ok(bytes);
        }
        let size = bytes.len() + question.1.len() + EACH;
        if state.version != version || state.size + size > KEPT {
            state.answers.clear();
            (state.version, state.size) = (version, 0);
        }
        state.size += size;
        state.answers.insert(question, bytes.clone());
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_made_once_for_each_audience_until_something_changes() {
        let answers = Answers::<u64>::default();
        let answer = |version: u64, who: &str, text: &'static str| {
            let question = (Audience::for_test(who), "limit=5".to_owned());
            answers.get(version, question, || Ok::<_, ()>(Bytes::from_static(text.as_bytes()))).unwrap()
        };
        assert_eq!(answer(1, "ada", "one"), "one");
        assert_eq!(answer(1, "ada", "two"), "one", "it is kept");
        assert_eq!(answer(1, "eve", "three"), "three", "nobody gets the answer of another");
        assert_eq!(answer(2, "ada", "four"), "four");
        assert_eq!(answer(1, "ada", "five"), "five", "who is late neither takes nor leaves anything");
        assert_eq!(answer(2, "ada", "six"), "four");
    }

    #[test]
    fn what_is_kept_has_a_bound() {
        let answers = Answers::<u64>::default();
        for number in 0..100 {
            let question = (Audience::for_test("ada"), number.to_string());
            answers.get(1, question, || Ok::<_, ()>(Bytes::from(vec![0; 1 << 20]))).unwrap();
            let state = answers.0.lock();
            let held: usize = state.answers.values().map(Bytes::len).sum();
            assert!(held <= state.size && state.size <= KEPT, "{held} {}", state.size);
        }
    }
}
