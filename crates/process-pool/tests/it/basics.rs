//! Tasks, batches, futures, cancelling, errors.

use std::future::Future;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use process_pool::{Bytes, ErrorKind, StartMethod, TaskOptions, WhenFull, available_start_methods};

use crate::Test;
use crate::lab::{Ask, Place, Setup, Told, ask, lab, number, pool, until, wait_for};

pub(crate) const TESTS: &[Test] = &[
    ("answers_come_back", answers_come_back),
    ("batches_are_in_order", batches_are_in_order),
    ("tasks_can_be_awaited", tasks_can_be_awaited),
    ("tasks_can_be_polled", tasks_can_be_polled),
    ("a_hundred_thousand_tasks_before_the_first_answer", many_tasks),
    ("a_megabyte_both_ways_at_once", megabytes),
    ("messages_larger_than_the_ring", larger_than_the_ring),
    ("errors_carry_message_and_worker", errors),
    ("a_panic_carries_message_place_and_stack", panics),
    ("an_answer_that_cannot_travel_is_that_tasks_error", codec_errors),
    ("a_waiting_task_is_cancelled", cancel_waiting),
    ("a_running_task_hears_of_its_cancelling", cancel_running),
    ("cancelling_thousands_of_sent_tasks_blocks_nothing", cancel_many),
    ("a_dropped_handle_cancels_and_a_detached_one_does_not", drop_and_detach),
    ("a_full_queue_refuses", full_queue_refuses),
    ("a_full_queue_blocks_until_there_is_room", full_queue_blocks),
    ("short_tasks_do_not_wait_behind_a_long_one", no_head_of_line),
    ("workers_have_their_environment_and_no_input", environment),
    ("stack_size_is_kept", stack_size),
    ("settings_without_sense_are_refused", settings),
    ("fork_is_refused_once_threads_live", fork_refused),
    ("start_methods_have_names", method_names),
    ("pools_and_tasks_cross_threads", cross_threads),
    ("counters_count", counters),
];

fn answers_come_back() {
    let pool = pool(2);
    assert_eq!(ask(&pool, Ask::Echo(7)), Told::Number(7));
    pool.shutdown().unwrap();
}

fn batches_are_in_order() {
    let pool = pool(3);
    let asks: Vec<_> = (0..1000).map(Ask::Echo).collect();
    let answers = pool.map(&asks).unwrap();
    assert_eq!(answers, (0..1000).map(Told::Number).collect::<Vec<_>>());
    let mixed = [Ask::Echo(1), Ask::Fail, Ask::Echo(2)];
    let outcomes = pool.batch(&mixed).unwrap().outcomes();
    assert!(outcomes[0].is_ok() && outcomes[1].is_err() && outcomes[2].is_ok());
    assert_eq!(pool.map(&mixed).unwrap_err().kind(), ErrorKind::Service);
    assert_eq!(pool.map(&[]).unwrap(), []);
}

struct Unpark(std::thread::Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

fn tasks_can_be_awaited() {
    let pool = pool(1);
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut context = Context::from_waker(&waker);
    let sum = async {
        let first = pool.submit(&Ask::Echo(1)).unwrap();
        let second = pool.submit(&Ask::Echo(2)).unwrap();
        number(&second.await.unwrap()) + number(&first.await.unwrap())
    };
    let mut sum = std::pin::pin!(sum);
    let sum = loop {
        match sum.as_mut().poll(&mut context) {
            Poll::Ready(sum) => break sum,
            Poll::Pending => std::thread::park(),
        }
    };
    assert_eq!(sum, 3);
}

fn tasks_can_be_polled() {
    let pool = pool(1);
    let place = Place::new("polled");
    let (here, go) = (place.path("here"), place.path("go"));
    let mut task = pool.submit(&Ask::Meet(here.clone(), go.clone())).unwrap();
    wait_for(&here);
    assert!(task.poll_answer().is_none() && !task.is_finished());
    let task = task.wait_timeout(Duration::from_millis(1)).unwrap_err();
    std::fs::write(go, "").unwrap();
    until(|| task.is_finished());
    assert_eq!(task.wait_timeout(Duration::ZERO).unwrap().unwrap(), Told::Number(0));
}

fn many_tasks() {
    let pool = pool(2);
    let tasks: Vec<_> = (0..100_000).map(|n| pool.submit(&Ask::Echo(n)).unwrap()).collect();
    for (n, task) in tasks.into_iter().enumerate() {
        assert_eq!(task.wait().unwrap(), Told::Number(n as u64));
    }
}

fn megabytes() {
    let pool = pool(2);
    let block = Bytes((0..1_u32 << 20).map(|n| n.to_le_bytes()[1]).collect());
    let asks = vec![Ask::Blob(block.clone()); 64];
    for answer in pool.batch(&asks).unwrap() {
        assert!(answer.unwrap() == Told::Blob(block.clone()));
    }
}

fn larger_than_the_ring() {
    let pool = lab(Setup::Fine, 2).ring_capacity(1).build().unwrap();
    for size in [0, 1, 4000, 4063, 4064, 4096, 4097, 100_000] {
        let block = Bytes(vec![3; size]);
        assert_eq!(ask(&pool, Ask::Blob(block.clone())), Told::Blob(block));
    }
    let asks: Vec<_> = (0..500).map(|n| Ask::Blob(Bytes(vec![1; n * 37 % 9000]))).collect();
    for (n, answer) in pool.batch(&asks).unwrap().enumerate() {
        assert_eq!(answer.unwrap(), Told::Blob(Bytes(vec![1; n * 37 % 9000])));
    }
}

fn errors() {
    let pool = pool(1);
    let error = pool.submit(&Ask::Fail).unwrap().wait().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Service);
    assert_eq!(error.to_string(), "worker 0: the cause");
    assert_eq!(error.worker().unwrap().number(), 0);
}

fn panics() {
    let pool = pool(1);
    let before = number(&ask(&pool, Ask::Pid));
    let error = pool.submit(&Ask::Panic).unwrap().wait().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Panic);
    let text = error.to_string();
    assert!(text.starts_with("worker 0 panicked: out of ideas, at "), "{text}");
    assert!(text.contains("lab.rs:"), "{text}");
    assert!(error.backtrace().unwrap().contains("call"), "{:?}", error.backtrace());
    assert_eq!(number(&ask(&pool, Ask::Pid)), before, "the worker lives on");
}

fn codec_errors() {
    let pool = pool(1);
    for (n, text) in [
        (13, "worker 0: the answer cannot be encoded: 13 is not written"),
        (14, "the answer of worker 0 cannot be decoded: 14 is not read"),
    ] {
        let error = pool.submit(&Ask::Picky(n)).unwrap().wait().unwrap_err();
        assert_eq!((error.kind(), error.to_string().as_str()), (ErrorKind::Codec, text));
    }
    assert_eq!(ask(&pool, Ask::Echo(1)), Told::Number(1));
    assert_eq!(pool.counters().deaths, 0);
}

fn cancel_waiting() {
    let pool = pool(1);
    let place = Place::new("cancel");
    let (here, go) = (place.path("here"), place.path("go"));
    let long = pool.submit(&Ask::Meet(here.clone(), go.clone())).unwrap();
    wait_for(&here);
    let marker = place.path("ran");
    let waiting = pool.submit(&Ask::Meet(marker.clone(), here)).unwrap();
    assert!(waiting.cancel());
    assert!(!waiting.cancel(), "only once");
    assert_eq!(waiting.wait().unwrap_err().kind(), ErrorKind::Cancelled);
    std::fs::write(go, "").unwrap();
    long.wait().unwrap();
    assert_eq!(ask(&pool, Ask::Echo(1)), Told::Number(1));
    assert!(!std::path::Path::new(&marker).exists());
}

fn cancel_running() {
    let pool = pool(1);
    let place = Place::new("cancel-running");
    let (here, heard) = (place.path("here"), place.path("heard"));
    let task = pool.submit(&Ask::AwaitCancel(here.clone(), heard.clone())).unwrap();
    wait_for(&here);
    assert!(task.cancel());
    assert_eq!(task.wait().unwrap_err().kind(), ErrorKind::Cancelled);
    wait_for(&heard);
    assert_eq!(ask(&pool, Ask::Echo(1)), Told::Number(1));
}

fn cancel_many() {
    let pool = pool(2);
    pool.map(&(0..1000).map(Ask::Echo).collect::<Vec<_>>()).unwrap();
    for _ in 0..50 {
        let tasks: Vec<_> = (0..200).map(|n| pool.submit(&Ask::Echo(n)).unwrap()).collect();
        for task in &tasks {
            task.cancel();
        }
        assert_eq!(ask(&pool, Ask::Echo(1)), Told::Number(1));
    }
}

fn drop_and_detach() {
    let pool = pool(1);
    let place = Place::new("detach");
    let (here, go) = (place.path("here"), place.path("go"));
    let long = pool.submit(&Ask::Meet(here.clone(), go.clone())).unwrap();
    wait_for(&here);
    let (dropped, detached) = (place.path("dropped"), place.path("detached"));
    drop(pool.submit(&Ask::Meet(dropped.clone(), here.clone())).unwrap());
    pool.submit(&Ask::Meet(detached.clone(), here)).unwrap().detach();
    std::fs::write(go, "").unwrap();
    long.wait().unwrap();
    wait_for(&detached);
    assert!(!std::path::Path::new(&dropped).exists());
}

fn full_queue_refuses() {
    let pool = lab(Setup::Fine, 1).queue(2, WhenFull::Refuse).build().unwrap();
    let place = Place::new("refuse");
    let (here, go) = (place.path("here"), place.path("go"));
    let long = pool.submit(&Ask::Meet(here.clone(), go.clone())).unwrap();
    wait_for(&here);
    let waiting: Vec<_> = (0..2).map(|n| pool.submit(&Ask::Echo(n)).unwrap()).collect();
    for _ in 0..3 {
        let error = pool.submit(&Ask::Echo(9)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::QueueFull);
        assert_eq!(error.to_string(), "2 tasks wait already");
    }
    waiting[0].cancel();
    let more = pool.submit(&Ask::Echo(3)).unwrap();
    std::fs::write(go, "").unwrap();
    long.wait().unwrap();
    assert_eq!(more.wait().unwrap(), Told::Number(3));
}

fn full_queue_blocks() {
    let pool = lab(Setup::Fine, 2).queue(3, WhenFull::Block).build().unwrap();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let tasks = (0..2000).map(|n| pool.submit(&Ask::Echo(n)).unwrap());
                let tasks: Vec<_> = tasks.collect();
                for (n, task) in tasks.into_iter().enumerate() {
                    assert_eq!(task.wait().unwrap(), Told::Number(n as u64));
                }
            });
        }
    });
}

fn no_head_of_line() {
    let pool = pool(2);
    // Many short tasks, so that workers are given several at a time.
    pool.map(&(0..2000).map(Ask::Echo).collect::<Vec<_>>()).unwrap();
    let place = Place::new("head");
    let (here, go) = (place.path("here"), place.path("go"));
    let mut asks = vec![Ask::Meet(here, go.clone())];
    asks.extend((0..40).map(Ask::Echo));
    let mut answers = pool.batch(&asks).unwrap();
    let long = {
        // All short ones are answered while the long one runs.
        let rest: Vec<_> = (0..40).map(|n| pool.submit(&Ask::Echo(n)).unwrap()).collect();
        for task in rest {
            task.wait().unwrap();
        }
        std::fs::write(go, "").unwrap();
        answers.next().unwrap()
    };
    assert_eq!(long.unwrap(), Told::Number(0));
    assert_eq!(answers.count(), 40);
}

fn environment() {
    let pool = lab(Setup::Fine, 1).env("POOL_IT_COLOUR", "green").build().unwrap();
    assert_eq!(ask(&pool, Ask::Env("POOL_IT_COLOUR".into())), Told::Text("green".into()));
    assert_eq!(ask(&pool, Ask::Env("PROCESS_POOL_ROLE".into())), Told::Text(String::new()));
    assert_eq!(ask(&pool, Ask::Stdin), Told::Text(String::new()));
}

fn stack_size() {
    let pool = lab(Setup::Fine, 1).stack_size(256 << 20).build().unwrap();
    // 100,000 frames of half a kilobyte: more than a thread has by default.
    assert_eq!(number(&ask(&pool, Ask::Recurse(100_000))), 100_000);
}

fn settings() {
    let error = lab(Setup::Fine, 0).build().unwrap_err();
    assert_eq!(
        (error.kind(), error.to_string().as_str()),
        (ErrorKind::Config, "a pool of 0 workers")
    );
    let error = lab(Setup::Fine, 1).recycle_after(0).build().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Config);
    let builder = process_pool::ProcessPool::<crate::lab::Twin2>::builder(&()).workers(1);
    let builder = builder.executable("/nonexistent/helper");
    let error = builder.build().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Start);
    assert!(error.to_string().contains("running /nonexistent/helper: No such file"), "{error}");
}

fn fork_refused() {
    // The tests run on threads, so a second one lives.
    std::thread::scope(|scope| {
        let (go, waits) = std::sync::mpsc::channel::<()>();
        scope.spawn(move || _ = waits.recv());
        let error = lab(Setup::Fine, 1).start_method(StartMethod::Fork).build().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unavailable);
        let text = error.to_string();
        assert!(text.starts_with("start method fork needs a process with one thread"), "{text}");
        let methods = available_start_methods();
        assert_eq!(methods, [StartMethod::Spawn, StartMethod::ForkServer]);
        drop(go);
    });
}

fn method_names() {
    for method in StartMethod::ALL {
        assert_eq!(method.name().parse::<StartMethod>().unwrap(), method);
    }
    let error = "thread".parse::<StartMethod>().unwrap_err();
    assert_eq!(error.to_string(), "start method \"thread\", expected spawn, forkserver or fork");
}

fn cross_threads() {
    fn check<T: Send + Sync>() {}
    check::<process_pool::ProcessPool<crate::lab::Lab>>();
    check::<process_pool::Task<Told>>();
    check::<process_pool::Error>();
    check::<process_pool::Builder<crate::lab::Lab>>();
    let pool = pool(2);
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let pool = &pool;
            scope.spawn(move || {
                for n in 0..300 {
                    assert_eq!(number(&ask(pool, Ask::Echo(thread * 1000 + n))), thread * 1000 + n);
                }
            });
        }
    });
}

fn counters() {
    let pool = pool(1);
    let options = TaskOptions::default();
    pool.submit_with(&Ask::Echo(1), options).unwrap().wait().unwrap();
    let counters = pool.counters();
    assert_eq!((counters.tasks, counters.deaths, counters.starts), (1, 0, 1));
    assert!(counters.bytes_sent > 32 && counters.bytes_received > 32);
}
