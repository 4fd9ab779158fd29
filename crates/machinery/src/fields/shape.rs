//! The shape of a type as far as merging is concerned: objects, lists and how their parts are told apart.
//!
//! A [`Type`] is built once per kind from a schema and then only borrowed. Cloning one is a reference count.
//! A schema that refers to itself is cut at the reference with [`Type::Untyped`].

use std::sync::Arc;

use serde_json::Value;

/// The shape of one place in a type.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Type {
    /// A string, number or boolean, also quantities, times and int-or-string: replaced as a whole.
    Scalar,
    /// Nothing is known: objects merge key by key, lists are replaced as a whole.
    #[default]
    Untyped,
    /// A struct, a map, or a struct that keeps unknown fields.
    Object(Arc<Object>),
    /// A list and what identifies its items.
    List(Arc<List>),
}

/// Known fields, what other keys hold, and whether the whole is one value.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Object {
    fields: Box<[Field]>,
    rest: Option<Type>,
    atomic: bool,
}

/// One known field of an object.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// The field's name in JSON, shared with every path that runs through it.
    pub name: Arc<str>,
    /// The shape of its value.
    pub ty: Type,
    /// How a strategic merge patch treats it.
    pub patch: PatchStrategy,
    /// Whether the API server writes the field even when it is empty, so that its presence says nothing about who set
    /// it. True of structs that are no pointers in Kubernetes' own types, false in custom resources.
    pub always: bool,
}

/// The annotations of a field that strategic merge patches go by.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PatchStrategy {
    /// Lists merge item by item; without it they are replaced.
    pub merge: bool,
    /// Objects are replaced instead of merged.
    pub replace: bool,
    /// Keys that `$retainKeys` does not name are dropped.
    pub retain_keys: bool,
    /// The key that identifies an item of a merged list of objects.
    pub merge_key: Option<Box<str>>,
}

/// A list: its items and what identifies them.
#[derive(Clone, Debug, PartialEq)]
pub struct List {
    /// The shape of one item.
    pub element: Type,
    /// What identifies an item.
    pub kind: ListKind,
}

/// What identifies the items of a list (`x-kubernetes-list-type`).
#[derive(Clone, Debug, PartialEq)]
pub enum ListKind {
    /// Nothing: the list is one value.
    Atomic,
    /// The item itself.
    Set,
    /// The values of these keys.
    Map(Box<[Key]>),
}

/// A key of a list of kind map.
#[derive(Clone, Debug, PartialEq)]
pub struct Key {
    /// The key's name.
    pub name: Arc<str>,
    /// What an item without the key counts as.
    pub default: Option<Value>,
}

impl Type {
    /// A struct of exactly these fields.
    pub fn object(fields: impl IntoIterator<Item = Field>) -> Self {
        Self::from_object(Object::new(fields))
    }

    /// A map with any keys and values of one shape.
    pub fn map(value: Type) -> Self {
        Self::from_object(Object::default().with_rest(value))
    }

    /// An object built by hand.
    pub fn from_object(object: Object) -> Self {
        Self::Object(Arc::new(object))
    }

    /// A list that is one value.
    pub fn atomic_list(element: Type) -> Self {
        Self::list(element, ListKind::Atomic)
    }

    /// A list whose items are their own identity.
    pub fn set(element: Type) -> Self {
        Self::list(element, ListKind::Set)
    }

    /// A list of objects identified by keys.
    pub fn map_list(element: Type, keys: impl IntoIterator<Item = Key>) -> Self {
        Self::list(element, ListKind::Map(keys.into_iter().collect()))
    }

    /// A list of the given kind.
    pub fn list(element: Type, kind: ListKind) -> Self {
        Self::List(Arc::new(List { element, kind }))
    }

    /// The shape below a field of an object; untyped below untyped, `None` where the schema knows no such field.
    pub fn field(&self, name: &str) -> Option<&Type> {
        match self {
            Self::Object(object) => object.get(name),
            Self::Untyped => Some(&Self::Untyped),
            Self::Scalar | Self::List(_) => None,
        }
    }

    /// The shape of a list's items; untyped below untyped.
    pub fn element(&self) -> Option<&Type> {
        match self {
            Self::List(list) => Some(&list.element),
            Self::Untyped => Some(&Self::Untyped),
            Self::Scalar | Self::Object(_) => None,
        }
    }
}

impl Object {
    /// A struct of these fields.
    pub fn new(fields: impl IntoIterator<Item = Field>) -> Self {
        let mut fields: Vec<Field> = fields.into_iter().collect();
        fields.sort_by(|a, b| a.name.cmp(&b.name));
        fields.dedup_by(|later, earlier| later.name == earlier.name);
        Self { fields: fields.into(), rest: None, atomic: false }
    }

    /// Keys that are no known field hold values of this shape (`additionalProperties`, preserved unknown fields).
    pub fn with_rest(mut self, value: Type) -> Self {
        self.rest = Some(value);
        self
    }

    /// The whole object is one value (`x-kubernetes-map-type: atomic`).
    pub fn atomic(mut self, atomic: bool) -> Self {
        self.atomic = atomic;
        self
    }

    /// Whether the whole object is one value.
    pub fn is_atomic(&self) -> bool {
        self.atomic
    }

    /// The known fields, sorted by name.
    pub fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// What keys that are no known field hold.
    pub fn rest(&self) -> Option<&Type> {
        self.rest.as_ref()
    }

    /// The known field of this name.
    pub fn find(&self, name: &str) -> Option<&Field> {
        let index = self.fields.binary_search_by(|field| (*field.name).cmp(name)).ok()?;
        self.fields.get(index)
    }

    /// The shape under a key.
    pub fn get(&self, name: &str) -> Option<&Type> {
        self.find(name).map(|field| &field.ty).or(self.rest.as_ref())
    }
}

impl Field {
    /// A field without annotations for strategic merge patches.
    pub fn new(name: impl Into<Arc<str>>, ty: Type) -> Self {
        Self { name: name.into(), ty, patch: PatchStrategy::default(), always: false }
    }

    /// The same field with annotations for strategic merge patches.
    pub fn with_patch(mut self, patch: PatchStrategy) -> Self {
        self.patch = patch;
        self
    }

    /// The same field, written even when empty or not.
    pub fn always(mut self, always: bool) -> Self {
        self.always = always;
        self
    }
}

impl PatchStrategy {
    /// A list that merges, by a key where its items are objects.
    pub fn merge(key: Option<&str>) -> Self {
        Self { merge: true, merge_key: key.map(Into::into), ..Self::default() }
    }
}

impl Key {
    /// A key that every item has.
    pub fn new(name: impl Into<Arc<str>>) -> Self {
        Self { name: name.into(), default: None }
    }

    /// The same key with the value that stands for its absence.
    pub fn with_default(mut self, default: impl Into<Value>) -> Self {
        self.default = Some(default.into());
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_by_name_whatever_order_they_came_in() {
        let ty = Type::object([Field::new("b", Type::Scalar), Field::new("a", Type::map(Type::Scalar))]);
        assert_eq!(ty.field("b"), Some(&Type::Scalar));
        assert_eq!(ty.field("a").and_then(|a| a.field("anything")), Some(&Type::Scalar));
        assert_eq!(ty.field("c"), None);
    }

    #[test]
    fn everything_below_untyped_is_untyped() {
        assert_eq!(Type::Untyped.field("a"), Some(&Type::Untyped));
        assert_eq!(Type::Untyped.element(), Some(&Type::Untyped));
    }
}
