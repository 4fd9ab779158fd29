//! Equal shapes get one number, so that verdicts can be remembered by it.

use std::{collections::HashMap, sync::Arc};

use crate::model::{Shape, ShapeId};

#[derive(Debug, Clone, Default)]
pub(super) struct Shapes {
    by_shape: HashMap<Arc<Shape>, Entry>,
    next: u32,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    id: ShapeId,
    pods: u32,
}

impl Shapes {
    /// The number of a shape, and the one copy that all its Pods share.
    pub(super) fn hold(&mut self, shape: &Arc<Shape>) -> (ShapeId, Arc<Shape>) {
        if let Some((shared, entry)) = self.by_shape.get_key_value(shape) {
            let (id, shared) = (entry.id, Arc::clone(shared));
            if let Some(entry) = self.by_shape.get_mut(&shared) {
                entry.pods += 1;
            }
            return (id, shared);
        }
        let id = ShapeId(self.next);
        self.next += 1;
        self.by_shape.insert(Arc::clone(shape), Entry { id, pods: 1 });
        (id, Arc::clone(shape))
    }

    /// One Pod less has it; the last one takes it away.
    pub(super) fn release(&mut self, shape: &Arc<Shape>) {
        if let Some(entry) = self.by_shape.get_mut(shape) {
            entry.pods -= 1;
            if entry.pods == 0 {
                self.by_shape.remove(shape);
            }
        }
    }
}
