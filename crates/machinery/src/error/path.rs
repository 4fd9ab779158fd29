//! A path built while walking down a value: a chain on the stack that costs nothing until it is printed.

use std::fmt;

/// Where in a value a walk stands.
#[derive(Clone, Copy, Debug)]
pub enum Path<'a> {
    /// The value itself.
    Root,
    /// A prefix that is already text.
    Text(&'a str),
    /// A field: `parent.name`.
    Field(&'a Path<'a>, &'a str),
    /// A list item: `parent[3]`.
    Index(&'a Path<'a>, usize),
    /// A map entry written as an index: `parent[key]`.
    Key(&'a Path<'a>, &'a str),
}

impl<'a> Path<'a> {
    /// The path of a field below this one.
    pub fn field(&'a self, name: &'a str) -> Path<'a> {
        Path::Field(self, name)
    }

    /// The path of a list item below this one.
    pub fn index(&'a self, index: usize) -> Path<'a> {
        Path::Index(self, index)
    }

    /// The path of a map entry below this one.
    pub fn key(&'a self, key: &'a str) -> Path<'a> {
        Path::Key(self, key)
    }

    fn is_empty(&self) -> bool {
        matches!(self, Path::Root | Path::Text(""))
    }
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Path::Root => Ok(()),
            Path::Text(text) => formatter.write_str(text),
            Path::Field(parent, name) if parent.is_empty() => formatter.write_str(name),
            Path::Field(parent, name) => write!(formatter, "{parent}.{name}"),
            Path::Index(parent, index) => write!(formatter, "{parent}[{index}]"),
            Path::Key(parent, key) => write!(formatter, "{parent}[{key}]"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_print_as_kubernetes_writes_them() {
        let root = Path::Root;
        let spec = root.field("spec");
        let containers = spec.field("containers");
        let first = containers.index(0);
        let limits = first.field("limits");
        assert_eq!(limits.key("cpu").to_string(), "spec.containers[0].limits[cpu]");
        assert_eq!(Path::Text("spec").field("x").to_string(), "spec.x");
        assert_eq!(root.index(2).to_string(), "[2]");
    }
}
