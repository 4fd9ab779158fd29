//! Questions about volumes that were made beforehand.

use super::Reason;
use crate::{
    ledger::Ledger,
    model::{Node, Shape},
};

/// Why a Pod of this shape gets no volume on a node for one of its claims. A volume may be usable on many nodes, so what
/// is taken on one changes the answer for others: it is asked anew each time.
pub fn judge_volumes(ledger: &Ledger, shape: &Shape, node: &Node) -> Option<Reason> {
    (!ledger.has_volumes(shape, node)).then_some(Reason::NoVolume)
}
