//! Tasks on threads of this process.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{Builder, JoinHandle};

use pams_core::StepDelta;
use parking_lot::RwLock;

use super::executor::{Answer, Executor, ExecutorError, Replica, StartPlan, Task};

/// Runs tasks on threads that read one common replica of the markets.
#[derive(Debug, Default)]
pub struct ThreadExecutor {
    replica: Option<Arc<RwLock<Replica>>>,
    workers: Vec<Worker>,
}

#[derive(Debug)]
struct Worker {
    tasks: Sender<Task>,
    answers: Receiver<Answer>,
    thread: JoinHandle<()>,
}

impl Executor for ThreadExecutor {
    fn start(&mut self, plan: StartPlan) -> Result<(), ExecutorError> {
        let replica = Arc::new(RwLock::new(plan.replica));
        for number in 0..plan.workers {
            self.workers.push(Worker::start(number, Arc::clone(&replica))?);
        }
        self.replica = Some(replica);
        Ok(())
    }

    fn update(&mut self, delta: StepDelta) -> Result<(), ExecutorError> {
        let replica = self.replica.as_ref().ok_or("the executor has not been started")?;
        replica.write().apply(&delta);
        Ok(())
    }

    fn run(&mut self, tasks: Vec<Task>) -> Result<Vec<Answer>, ExecutorError> {
        let n_tasks = tasks.len();
        // Task i goes to worker i modulo their number, and every worker answers in order.
        for (task, worker) in tasks.into_iter().zip(self.workers.iter().cycle()) {
            worker.tasks.send(task).map_err(|_| "a worker thread has ended")?;
        }
        self.workers
            .iter()
            .cycle()
            .take(n_tasks)
            .map(|worker| worker.answers.recv().map_err(|_| "a worker thread has ended".into()))
            .collect()
    }

    fn stop(&mut self) {
        for Worker { tasks, answers, thread } in self.workers.drain(..) {
            drop((tasks, answers));
            // A panic of a worker was reported when its answer did not come.
            let _ = thread.join();
        }
        self.replica = None;
    }
}

impl Drop for ThreadExecutor {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Worker {
    fn start(number: usize, replica: Arc<RwLock<Replica>>) -> Result<Self, ExecutorError> {
        let (tasks, incoming) = channel::<Task>();
        let (outgoing, answers) = channel();
        let thread = Builder::new().name(format!("pams-worker-{number}")).spawn(move || {
            while let Ok(task) = incoming.recv() {
                let answer = replica.read().answer(task);
                if outgoing.send(answer).is_err() {
                    return;
                }
            }
        })?;
        Ok(Self { tasks, answers, thread })
    }
}
