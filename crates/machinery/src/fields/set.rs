//! Sets of paths, as trees of sorted steps.
//!
//! A path in the set does not bring its parents with it: that a manager owns `.spec.replicas` says nothing about
//! `.spec`. Where a parent is owned too, its node carries the mark (`.` in FieldsV1).

use std::cmp::Ordering;
use std::fmt;

use super::{Element, Type};

/// A set of paths.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Set {
    /// Sorted by step; no node is without meaning (it is a member, or has children).
    nodes: Vec<Node>,
}

/// A step, whether the path that ends here is in the set, and what is in the set below.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Node {
    pub(crate) element: Element,
    pub(crate) member: bool,
    pub(crate) children: Set,
}

impl Node {
    pub(crate) fn new(element: Element, member: bool, children: Set) -> Self {
        Self { element, member, children }
    }

    fn is_void(&self) -> bool {
        !self.member && self.children.is_empty()
    }
}

impl Set {
    /// The empty set.
    pub const fn new() -> Self {
        Self { nodes: Vec::new() }
    }

    /// The set of these paths.
    pub fn of<P: AsRef<[Element]>>(paths: impl IntoIterator<Item = P>) -> Self {
        let mut set = Self::new();
        for path in paths {
            set.insert(path.as_ref());
        }
        set
    }

    /// The set of these paths of field names, such as `["metadata", "name"]`.
    pub fn of_fields(paths: &[&[&str]]) -> Self {
        Self::of(paths.iter().map(|path| path.iter().map(|name| Element::field(*name)).collect::<Vec<_>>()))
    }

    /// From nodes that may be unsorted but are distinct.
    pub(crate) fn from_nodes(mut nodes: Vec<Node>) -> Self {
        nodes.retain(|node| !node.is_void());
        if !nodes.is_sorted_by(|a, b| a.element < b.element) {
            nodes.sort_by(|a, b| a.element.cmp(&b.element));
        }
        Self { nodes }
    }

    pub(crate) fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Adds a path; its parents are not added. The empty path is nobody's.
    pub fn insert(&mut self, path: &[Element]) {
        let Some((first, rest)) = path.split_first() else { return };
        let at = match self.place(first) {
            Ok(at) => at,
            Err(at) => {
                self.nodes.insert(at, Node::new(first.clone(), false, Self::new()));
                at
            }
        };
        if rest.is_empty() {
            self.nodes[at].member = true;
        } else {
            self.nodes[at].children.insert(rest);
        }
    }

    /// Whether there is no path in the set.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// How many paths there are.
    pub fn len(&self) -> usize {
        self.nodes.iter().map(|node| usize::from(node.member) + node.children.len()).sum()
    }

    /// Whether exactly this path is in the set.
    pub fn contains(&self, path: &[Element]) -> bool {
        match path {
            [] => false,
            [last] => self.has(last),
            [first, rest @ ..] => self.below(first).is_some_and(|below| below.contains(rest)),
        }
    }

    /// Whether the path of one step is in the set.
    pub fn has(&self, element: &Element) -> bool {
        self.node(element).is_some_and(|node| node.member)
    }

    /// What is in the set below a step, with that step taken off.
    pub fn below(&self, element: &Element) -> Option<&Set> {
        self.node(element).map(|node| &node.children).filter(|children| !children.is_empty())
    }

    /// What is in the set below a path, with that path taken off.
    pub fn with_prefix(&self, path: &[Element]) -> Option<&Set> {
        path.iter().try_fold(self, |set, element| set.below(element))
    }

    fn place(&self, element: &Element) -> Result<usize, usize> {
        self.nodes.binary_search_by(|node| node.element.cmp(element))
    }

    fn node(&self, element: &Element) -> Option<&Node> {
        self.place(element).ok().and_then(|at| self.nodes.get(at))
    }

    /// The paths of either set.
    pub fn union(self, other: Self) -> Self {
        if self.is_empty() {
            return other;
        }
        if other.is_empty() {
            return self;
        }
        let mut nodes = Vec::with_capacity(self.nodes.len().max(other.nodes.len()));
        let mut left = self.nodes.into_iter().peekable();
        let mut right = other.nodes.into_iter().peekable();
        while let (Some(a), Some(b)) = (left.peek(), right.peek()) {
            match a.element.cmp(&b.element) {
                Ordering::Less => nodes.extend(left.next()),
                Ordering::Greater => nodes.extend(right.next()),
                Ordering::Equal => {
                    if let (Some(a), Some(b)) = (left.next(), right.next()) {
                        nodes.push(Node::new(a.element, a.member || b.member, a.children.union(b.children)));
                    }
                }
            }
        }
        nodes.extend(left);
        nodes.extend(right);
        Self { nodes }
    }

    /// The paths of this set that are not in the other; a parent in the other does not take its children away.
    pub fn difference(self, other: &Self) -> Self {
        self.subtract(other, false)
    }

    /// The paths of this set that are neither in the other nor below a path of the other.
    pub fn recursive_difference(self, other: &Self) -> Self {
        self.subtract(other, true)
    }

    fn subtract(mut self, other: &Self, recursive: bool) -> Self {
        if other.is_empty() {
            return self;
        }
        let mut right = other.nodes.iter().peekable();
        self.nodes.retain_mut(|node| {
            while right.next_if(|gone| gone.element < node.element).is_some() {}
            let Some(gone) = right.next_if(|gone| gone.element == node.element) else { return true };
            if gone.member && recursive {
                return false;
            }
            node.member &= !gone.member;
            node.children = std::mem::take(&mut node.children).subtract(&gone.children, recursive);
            !node.is_void()
        });
        self
    }

    /// The paths that are in both sets.
    pub fn intersection(&self, other: &Self) -> Self {
        let mut nodes = Vec::new();
        let mut right = other.nodes.iter().peekable();
        for node in &self.nodes {
            while right.next_if(|other| other.element < node.element).is_some() {}
            let Some(shared) = right.next_if(|other| other.element == node.element) else { continue };
            let member = node.member && shared.member;
            let children = node.children.intersection(&shared.children);
            if member || !children.is_empty() {
                nodes.push(Node::new(node.element.clone(), member, children));
            }
        }
        Self { nodes }
    }

    /// The same set in which every struct field with something below it is a member too.
    pub(crate) fn with_named_fields(mut self, ty: &Type) -> Self {
        for node in &mut self.nodes {
            let (named, below) = match (&node.element, ty) {
                (Element::Field(name), Type::Object(object)) => match object.find(name) {
                    Some(field) => (true, Some(&field.ty)),
                    None => (false, object.rest()),
                },
                (_, ty) => (false, ty.element()),
            };
            node.member |= named && !node.children.is_empty();
            let children = std::mem::take(&mut node.children);
            node.children = match below {
                Some(below) => children.with_named_fields(below),
                None => children,
            };
        }
        self
    }

    /// Calls back for every path: those that end at a level first, then those below, each in order.
    pub fn for_each(&self, mut visit: impl FnMut(&[Element])) {
        self.walk(&mut Vec::new(), &mut visit);
    }

    fn walk(&self, path: &mut Vec<Element>, visit: &mut impl FnMut(&[Element])) {
        for node in self.nodes.iter().filter(|node| node.member) {
            path.push(node.element.clone());
            visit(path);
            path.pop();
        }
        for node in self.nodes.iter().filter(|node| !node.children.is_empty()) {
            path.push(node.element.clone());
            node.children.walk(path, visit);
            path.pop();
        }
    }

    /// Every path as people write it, in the order of [`Set::for_each`].
    pub fn paths(&self) -> Vec<String> {
        let mut paths = Vec::new();
        self.for_each(|path| paths.push(path.iter().map(ToString::to_string).collect()));
        paths
    }
}

impl fmt::Display for Set {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.paths().join("\n"))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn element() -> impl Strategy<Value = Element> {
        prop_oneof![
            "[abc]".prop_map(Element::field),
            "[ab]".prop_map(|name| Element::key([("name", name)])),
            (0..2i64, "[xy]")
                .prop_map(|(port, name)| Element::key([("port", json!(port)), ("name", json!(name))])),
            "[ab]".prop_map(Element::value),
            (0..2i64).prop_map(Element::Index),
        ]
    }

    /// Any set of a few paths over few enough steps that two sets meet.
    pub(crate) fn any_set() -> impl Strategy<Value = Set> {
        prop::collection::vec(prop::collection::vec(element(), 1..4), 0..8).prop_map(Set::of)
    }

    #[test]
    fn a_parent_and_its_child_are_two_members() {
        let parent = Set::of_fields(&[&["a"]]);
        let child = Set::of_fields(&[&["a", "b"]]);
        let both = parent.clone().union(child.clone());
        assert_eq!(both.len(), 2);
        assert_eq!(both.clone().difference(&parent), child);
        assert_eq!(both.clone().difference(&child), parent);
        assert!(both.recursive_difference(&parent).is_empty());
        assert!(!parent.contains(&[Element::field("a"), Element::field("b")]));
    }

    #[test]
    fn prefixes_open_what_is_below() {
        let set = Set::of_fields(&[&["a", "b", "c"], &["a", "d"]]);
        assert_eq!(set.with_prefix(&[Element::field("a")]).unwrap().paths(), [".d", ".b.c"]);
        assert_eq!(set.with_prefix(&[Element::field("x")]), None);
    }

    proptest! {
        #[test]
        fn union_and_intersection_are_commutative_and_idempotent(a in any_set(), b in any_set()) {
            prop_assert_eq!(a.clone().union(b.clone()), b.clone().union(a.clone()));
            prop_assert_eq!(a.intersection(&b), b.intersection(&a));
            prop_assert_eq!(a.clone().union(a.clone()), a.clone());
            prop_assert_eq!(a.intersection(&a), a);
        }

        #[test]
        fn union_is_associative_and_intersection_distributes(a in any_set(), b in any_set(), c in any_set()) {
            let left = a.clone().union(b.clone()).union(c.clone());
            prop_assert_eq!(&left, &a.clone().union(b.clone().union(c.clone())));
            let spread = a.intersection(&b).union(a.intersection(&c));
            prop_assert_eq!(a.intersection(&b.union(c)), spread);
        }

        #[test]
        fn what_is_taken_away_and_what_is_shared_make_the_whole(a in any_set(), b in any_set()) {
            let rest = a.clone().difference(&b);
            let shared = a.intersection(&b);
            prop_assert!(rest.intersection(&b).is_empty());
            prop_assert_eq!(rest.len() + shared.len(), a.len());
            prop_assert_eq!(rest.union(shared), a);
        }

        #[test]
        fn membership_follows_the_operations(a in any_set(), b in any_set()) {
            let union = a.clone().union(b.clone());
            let difference = a.clone().difference(&b);
            let mut wrong = None;
            union.for_each(|path| {
                let (in_a, in_b) = (a.contains(path), b.contains(path));
                if !(in_a || in_b) || difference.contains(path) != (in_a && !in_b) {
                    wrong = Some(path.to_vec());
                }
            });
            prop_assert_eq!(wrong, None);
            prop_assert_eq!(Set::of(collect(&union)), union);
        }

        #[test]
        fn recursive_difference_leaves_nothing_below_what_is_gone(a in any_set(), b in any_set()) {
            let rest = a.recursive_difference(&b);
            let mut below = false;
            rest.for_each(|path| below |= (1..=path.len()).any(|end| b.contains(&path[..end])));
            prop_assert!(!below);
        }
    }

    fn collect(set: &Set) -> Vec<Vec<Element>> {
        let mut paths = Vec::new();
        set.for_each(|path| paths.push(path.to_vec()));
        paths
    }
}
