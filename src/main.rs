//! The `cuemark` command: parses what was typed, starts logging, calls the library, maps the outcome to an exit code.

mod cli;
mod commands;

use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::Parser;
use tracing_subscriber::filter::LevelFilter;

use cli::{Cli, Command};

/// Set by Ctrl-C; only capture looks at it, so everything behind it drains.
static STOP: AtomicBool = AtomicBool::new(false);

fn main() -> ExitCode {
    let cli = Cli::parse();
    let level = match cli.verbose {
        0 => LevelFilter::WARN,
        1 => LevelFilter::INFO,
        2 => LevelFilter::DEBUG,
        _ => LevelFilter::TRACE,
    };
    tracing_subscriber::fmt()
        .with_max_level(level)
        .with_writer(std::io::stderr)
        .without_time()
        .init();
    // Without a handler Ctrl-C ends the process at once, which loses nothing that was announced.
    if let Err(error) = ctrlc::set_handler(|| STOP.store(true, Ordering::Relaxed)) {
        tracing::warn!(%error, "Ctrl-C will end the process without draining");
    }
    let done = match &cli.command {
        Command::Analyse(args) => commands::analyse(args, &STOP),
        Command::Calibrate(args) => commands::calibrate(args),
        Command::Rule(args) => commands::rule(args),
        Command::Overlay(args) => commands::overlay(args, &STOP),
        Command::Demo(args) => commands::demo(args, &STOP),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {}", commands::one_line(&error));
            ExitCode::FAILURE
        }
    }
}

/// Whoever reads our output has seen enough: `cuemark … | head`.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error
        .downcast_ref::<std::io::Error>()
        .is_some_and(|e| e.kind() == std::io::ErrorKind::BrokenPipe)
}
