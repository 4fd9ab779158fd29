//! In which order a merged list comes out: `$setElementOrder` first, then the patch's order, then the live one.

use serde_json::{Map, Value};

use super::super::PatchError;
use super::list::{self, key_value};
use super::{SET_ELEMENT_ORDER, cleaned, parallel_field, strategy_of};
use crate::fields::Type;

/// Merges every list that has a `$setElementOrder` and brings it into that order; what was handled leaves the patch.
pub(super) fn set_orders(
    original: &mut Map<String, Value>,
    patch: &mut Map<String, Value>,
    ty: &Type,
) -> Result<(), PatchError> {
    let directives: Vec<String> =
        patch.keys().filter(|key| key.starts_with(SET_ELEMENT_ORDER)).cloned().collect();
    for directive in directives {
        let Some(field) = parallel_field(&directive, SET_ELEMENT_ORDER)? else { continue };
        let order = as_list(patch.remove(&directive))?.unwrap_or_default();
        let change = as_list(patch.remove(field))?;
        let had = as_list(original.remove(field))?;
        if let Some(merged) = ordered(had, change, &order, field, ty)? {
            original.insert(field.to_owned(), Value::Array(merged));
        }
    }
    Ok(())
}

fn as_list(value: Option<Value>) -> Result<Option<Vec<Value>>, PatchError> {
    match value {
        None => Ok(None),
        Some(Value::Array(items)) => Ok(Some(items)),
        Some(other) => Err(PatchError::Internal(format!("expected a list, but received {other}"))),
    }
}

fn ordered(
    had: Option<Vec<Value>>,
    change: Option<Vec<Value>>,
    order: &[Value],
    field: &str,
    ty: &Type,
) -> Result<Option<Vec<Value>>, PatchError> {
    let strategy = strategy_of(ty, field);
    let key = strategy.merge_key.as_deref();
    if let Some(change) = &change {
        check_order(change, order, key)?;
    }
    let server_order = had.clone().unwrap_or_default();
    let merged = match (had, change) {
        (None, None) => return Ok(None),
        (Some(had), None) => had,
        (None, Some(change)) => change.into_iter().filter_map(cleaned).collect(),
        (Some(had), Some(change)) => {
            let element = ty.field(field).and_then(Type::element).unwrap_or(&Type::Untyped);
            list::merge_field(had, change, strategy, element)?
        }
    };
    list::kind_of(&merged, &[])?;
    interleave(merged, order, &server_order, key).map(Some)
}

/// The items of a patch must stand in the order, in the same sequence; deletions do not count.
fn check_order(change: &[Value], order: &[Value], key: Option<&str>) -> Result<(), PatchError> {
    if order.is_empty() {
        return Ok(());
    }
    let mut rest = order.iter();
    for item in change.iter().filter(|item| item.get(super::PATCH).is_none()) {
        let wanted = identity(item, key)?;
        loop {
            let place = rest.next().ok_or_else(|| {
                PatchError::Internal(format!(
                    "The order in patch list doesn't match {SET_ELEMENT_ORDER} list"
                ))
            })?;
            if identity(place, key)? == wanted {
                break;
            }
        }
    }
    Ok(())
}

fn identity<'a>(item: &'a Value, key: Option<&str>) -> Result<&'a Value, PatchError> {
    match key {
        Some(key) => key_value(item, key),
        None => Ok(item),
    }
}

/// Items that the patch names come in the patch's order; the others keep the server's order and stand before the first
/// named item that followed them there.
pub(super) fn interleave(
    merged: Vec<Value>,
    patch_order: &[Value],
    server_order: &[Value],
    key: Option<&str>,
) -> Result<Vec<Value>, PatchError> {
    let mut named = Vec::new();
    let mut others = Vec::new();
    for item in merged {
        let identity = identity(&item, key)?;
        let in_server = place(server_order, identity, key);
        match place(patch_order, identity, key) {
            Some(at) => named.push((at, in_server, item)),
            None => others.push((in_server, item)),
        }
    }
    named.sort_by_key(|(at, _, _)| *at);
    others.sort_by_key(|(at, _)| at.unwrap_or(usize::MAX));
    let mut others = others.into_iter().peekable();
    let mut result = Vec::with_capacity(named.len() + others.len());
    for (_, in_server, item) in named {
        let before = |at: Option<usize>| at.zip(in_server).is_some_and(|(other, named)| other < named);
        while let Some((_, other)) = others.next_if(|(at, _)| before(*at)) {
            result.push(other);
        }
        result.push(item);
    }
    result.extend(others.map(|(_, item)| item));
    Ok(result)
}

fn place(order: &[Value], wanted: &Value, key: Option<&str>) -> Option<usize> {
    order.iter().position(|item| match key {
        Some(key) => item.get(key) == Some(wanted),
        None => item == wanted,
    })
}
