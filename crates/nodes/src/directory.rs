//! Several sets of kubelets behind one dialer.

use std::{fmt, sync::Arc};

use maar_streams::dial::{Dial, Dialing};
use parking_lot::RwLock;

/// Knows the kubelets of all sets that were added; an API server is given this and sees later additions too.
#[derive(Clone, Default)]
pub struct KubeletDirectory(Arc<RwLock<Vec<Arc<dyn Dial>>>>);

impl KubeletDirectory {
    /// Adds the kubelets of a set.
    pub fn add(&self, kubelets: Arc<dyn Dial>) {
        self.0.write().push(kubelets);
    }
}

impl fmt::Debug for KubeletDirectory {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("KubeletDirectory").field("sets", &self.0.read().len()).finish()
    }
}

impl Dial for KubeletDirectory {
    fn dial(&self, node: &str) -> Option<Dialing> {
        let sets = self.0.read().clone();
        sets.iter().find_map(|set| set.dial(node))
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    fn only(name: &'static str) -> Arc<dyn Dial> {
        Arc::new(move |node: &str| -> Option<Dialing> {
            (node == name).then(|| -> Dialing { Box::pin(async move { Err(io::Error::other(name)) }) })
        })
    }

    #[tokio::test]
    async fn the_set_that_knows_the_node_is_asked() {
        let directory = KubeletDirectory::default();
        directory.add(only("a"));
        let given_away = directory.clone();
        directory.add(only("b"));
        assert!(given_away.dial("c").is_none());
        let error = given_away.dial("b").expect("known").await.err().expect("it is a test");
        assert_eq!(error.to_string(), "b");
    }
}
