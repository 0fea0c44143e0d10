//! Loggers that are built in.

mod json_lines;
mod saver;
mod step_print;

pub use json_lines::JsonLines;
pub use saver::MemorySaver;
pub use step_print::StepPrint;
