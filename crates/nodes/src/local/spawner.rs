//! One thread that starts all processes of the node.
//!
//! Sandboxes die with the *thread* that started them (that is what the kernel's parent-death signal looks at), and
//! tokio's threads come and go. This one stays until the node stops.

use std::{io, sync::mpsc, thread};

use tokio::{process::Child, runtime::Handle, sync::oneshot};

type Job = Box<dyn FnOnce() + Send>;

/// See the module.
#[derive(Debug)]
pub(super) struct Spawner {
    jobs: mpsc::Sender<Job>,
}

impl Spawner {
    /// Starts the thread. Must be called inside a tokio runtime.
    pub(super) fn start() -> io::Result<Self> {
        let (jobs, inbox) = mpsc::channel::<Job>();
        let runtime = Handle::current();
        thread::Builder::new().name("local-node-spawner".into()).spawn(move || {
            let _context = runtime.enter();
            for job in inbox {
                job();
            }
        })?;
        Ok(Self { jobs })
    }

    /// Starts a process from the thread that stays.
    pub(super) async fn spawn<F>(&self, start: F) -> io::Result<Child>
    where
        F: FnOnce() -> io::Result<Child> + Send + 'static,
    {
        let (reply, answer) = oneshot::channel();
        let job = Box::new(move || {
            // If nobody waits any more the child is dropped, and killed by that.
            let _ = reply.send(start());
        });
        let gone = || io::Error::other("the thread that starts processes is gone");
        self.jobs.send(job).map_err(|_| gone())?;
        answer.await.map_err(|_| gone())?
    }
}
