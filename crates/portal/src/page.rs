//! Lists in pages.

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use maar_records::{Cursor, Listing};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::error::ApiError;

/// The most in one page.
pub(crate) const MOST: usize = 500;
/// How much is in one page if it is not said.
const USUAL: usize = 50;

/// Which page.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PageQuery {
    /// How many at most, up to 500; 50 if it is not said.
    pub(crate) limit: Option<usize>,
    /// `next` of the page before.
    pub(crate) cursor: Option<String>,
}

/// One page.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Page<T> {
    /// What is on it.
    pub(crate) items: Vec<T>,
    /// Asks for the next page; absent on the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) next: Option<String>,
}

impl PageQuery {
    pub(crate) fn limit(&self) -> Result<usize, ApiError> {
        match self.limit {
            None => Ok(USUAL),
            Some(limit) if (1..=MOST).contains(&limit) => Ok(limit),
            Some(_) => Err(ApiError::invalid("limit", format!("is between 1 and {MOST}"))),
        }
    }

    /// The place after which the page begins.
    pub(crate) fn after<P: DeserializeOwned>(&self) -> Result<Option<P>, ApiError> {
        let Some(text) = &self.cursor else { return Ok(None) };
        let bytes = BASE64_URL_SAFE_NO_PAD.decode(text).ok();
        let place = bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok());
        place.map(Some).ok_or_else(|| ApiError::invalid("cursor", "was not given out by this list"))
    }
}

impl PageQuery {
    /// The same for lists that the records keep.
    pub(crate) fn records(&self) -> Result<maar_records::Page, ApiError> {
        let limit = u32::try_from(self.limit()?).map_err(|_| ApiError::invalid("limit", "is too large"))?;
        let page = maar_records::Page::first(limit)?;
        Ok(match &self.cursor {
            Some(cursor) => page.after(Cursor::new(cursor)),
            None => page,
        })
    }
}

impl<T> Page<T> {
    pub(crate) fn map<U>(self, make: impl FnMut(T) -> U) -> Page<U> {
        Page { items: self.items.into_iter().map(make).collect(), next: self.next }
    }

    pub(crate) fn of_records<R>(listing: Listing<R>, make: impl FnMut(R) -> T) -> Self {
        let next = listing.next.map(|cursor| cursor.as_str().to_owned());
        Self { items: listing.items.into_iter().map(make).collect(), next }
    }
}

/// The page of `sorted` that `query` asks for; `place` says where an item stands in the order.
pub(crate) fn page<T, P>(
    mut sorted: Vec<T>,
    query: &PageQuery,
    place: impl Fn(&T) -> P,
) -> Result<Page<T>, ApiError>
where
    P: Ord + Serialize + DeserializeOwned,
{
    let limit = query.limit()?;
    let begin = match query.after::<P>()? {
        None => 0,
        Some(after) => sorted.partition_point(|item| place(item) <= after),
    };
    let mut items = sorted.split_off(begin.min(sorted.len()));
    let more = items.len() > limit;
    items.truncate(limit);
    let next = items.last().filter(|_| more).map(|last| cursor(&place(last)));
    Ok(Page { items, next })
}

fn cursor<P: Serialize>(place: &P) -> String {
    // Places are tuples of words and numbers, which JSON always has room for.
    BASE64_URL_SAFE_NO_PAD.encode(serde_json::to_vec(place).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn query(limit: usize, cursor: Option<String>) -> PageQuery {
        PageQuery { limit: Some(limit), cursor }
    }

    proptest! {
        #[test]
        fn pages_hold_everything_once(mut all in proptest::collection::btree_set(0_u32..1000, 0..40), limit in 1_usize..10, late: u16) {
            let (mut seen, mut cursor) = (Vec::new(), None);
            let begin = all.clone();
            loop {
                let sorted: Vec<u32> = all.iter().copied().collect();
                let one = page(sorted, &query(limit, cursor), |item| *item).unwrap();
                prop_assert!(one.items.len() <= limit);
                seen.extend(one.items);
                // Things that come and go meanwhile shift no page.
                all.remove(&(u32::from(late) % 1000));
                cursor = one.next;
                if cursor.is_none() {
                    break;
                }
            }
            let missing: Vec<u32> = begin.iter().filter(|item| !seen.contains(item)).copied().collect();
            prop_assert!(missing.iter().all(|item| *item == u32::from(late) % 1000));
            prop_assert!(seen.windows(2).all(|pair| pair[0] < pair[1]), "{seen:?}");
        }
    }

    #[test]
    fn what_makes_no_sense_is_named() {
        let wrong = |query: &PageQuery| page(vec![1], query, |item| *item).unwrap_err().field;
        assert_eq!(wrong(&query(0, None)).as_deref(), Some("limit"));
        assert_eq!(wrong(&query(501, None)).as_deref(), Some("limit"));
        assert_eq!(wrong(&query(5, Some("x".to_owned()))).as_deref(), Some("cursor"));
    }
}
