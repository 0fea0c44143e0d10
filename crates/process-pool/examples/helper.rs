//! A helper executable: workers for a library or a test harness that does not own `main`.
//!
//! The library names it with `Builder::executable`. Run by hand, it shows both sides.

use process_pool::{BoxError, Context, ProcessPool, Service};

/// In real life this stands in the library, and the helper depends on the library.
struct Upper;

impl Service for Upper {
    const NAME: &'static str = "upper";
    const BUILD: &'static str = env!("CARGO_PKG_VERSION");
    type Args = ();
    type Request = String;
    type Answer = String;
    type Update = ();

    fn start((): (), _: &Context) -> Result<Self, BoxError> {
        Ok(Self)
    }

    fn call(&mut self, text: String, _: &Context) -> Result<String, BoxError> {
        Ok(text.to_uppercase())
    }
}

#[expect(clippy::print_stdout, reason = "an example shows its result")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    // This line is all that a helper needs.
    process_pool::init(&[process_pool::service::<Upper>()]);

    let helper = std::env::current_exe()?;
    let pool = ProcessPool::<Upper>::builder(&()).workers(1).executable(helper).build()?;
    println!("{}", pool.submit(&"loud and clear".to_owned())?.wait()?);
    Ok(())
}
