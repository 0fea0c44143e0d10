//! The config of a sweep, and what becomes of it at each point.

use std::path::PathBuf;

use pams_agent::Registry;
use pams_config::{ReadOptions, Settings, Strictness};
use pams_runner::SequentialRunner;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::error::{Error, ErrorKind};
use crate::grid::{Grid, Misplaced};

/// A config as a text, and from where it came.
#[derive(Clone, Debug, Default)]
pub struct ConfigText {
    /// What it is called in errors.
    pub name: String,
    /// The text, which is JSON.
    pub text: Vec<u8>,
    /// The folder from which relative paths in it are meant; none for where the program runs.
    pub folder: Option<PathBuf>,
    /// Whether unknown keys are errors.
    pub strictness: Strictness,
}

/// A config that is good by itself, and a grid over it. Workers get a copy.
#[derive(Clone, Debug)]
pub(crate) struct Configs {
    pub(crate) base: Json,
    /// The base as it was understood.
    pub(crate) resolved: Json,
    pub(crate) grid: Grid,
    pub(crate) name: String,
    options: ReadOptions,
}

impl Configs {
    /// Reads a config by itself.
    pub(crate) fn read(
        config: &ConfigText,
        grid: Grid,
        registry: &Registry,
    ) -> Result<Self, Error> {
        let settings = SequentialRunner::builder()
            .config_text(config.text.clone())
            .config_folder(config.folder.clone())
            .config_name(config.name.clone())
            .strictness(config.strictness)
            .registry(registry.clone())
            .check()?;
        for warning in &settings.warnings {
            tracing::warn!("{}: {warning}", config.name);
        }
        let base = serde_json::from_slice(&config.text).map_err(|error| {
            let message = format!("{}: its parameters can't be changed: {error}", config.name);
            Error::grid(message)
        })?;
        let mut options = ReadOptions::from(config.strictness);
        options.folder.clone_from(&config.folder);
        Ok(Self { base, resolved: settings.resolved, grid, name: config.name.clone(), options })
    }

    /// The settings of a point.
    pub(crate) fn settings(&self, point: usize, registry: &Registry) -> Result<Settings, Error> {
        let config = self
            .grid
            .apply(point, &self.base, &self.resolved)
            .map_err(|misplaced| Error::new(ErrorKind::Grid(described(&misplaced))))?;
        let name = match self.grid.axes() {
            [] => self.name.clone(),
            _ => format!("{} with {}", self.name, self.grid.describe(point)),
        };
        let settings = SequentialRunner::builder()
            .config_value(config)
            .config_folder(self.options.folder.clone())
            .config_name(name)
            .strictness(self.options.strictness)
            .registry(registry.clone())
            .check()?;
        Ok(settings)
    }

    /// Checks every point, and answers with a hash of all that they mean.
    ///
    /// # Errors
    ///
    /// The first mistake. A parameter that changes nothing is one: nothing uses it.
    pub(crate) fn check(&self, registry: &Registry) -> Result<String, Error> {
        let n_points = self.grid.n_points().unwrap_or(usize::MAX);
        let mut hasher = blake3::Hasher::new();
        let mut first = Json::Null;
        for point in 0..n_points {
            let resolved = self.settings(point, registry)?.resolved;
            if point == 0 {
                first = resolved.clone();
            } else if let Some(axis) = self.grid.only_other(point)
                && resolved == first
            {
                let axis = &self.grid.axes()[axis];
                return Err(Error::grid(format!(
                    "{}: the config means the same with each of the values, so nothing uses this \
                     key",
                    axis.path()
                )));
            }
            let text = resolved.to_string();
            hasher.update(&(text.len() as u64).to_le_bytes());
            hasher.update(text.as_bytes());
        }
        Ok(format!("blake3:{}", hasher.finalize().to_hex()))
    }

    /// What travels to workers.
    pub(crate) fn wire(&self) -> WireConfigs {
        WireConfigs {
            base: self.base.to_string(),
            resolved: self.resolved.to_string(),
            grid: serde_json::to_string(&self.grid).expect("invariant: a grid is plain data"),
            name: self.name.clone(),
            folder: self.options.folder.clone(),
            lenient: self.options.strictness == Strictness::Lenient,
        }
    }
}

/// [`Configs`] as texts, because the wire does not carry JSON values.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct WireConfigs {
    base: String,
    resolved: String,
    grid: String,
    name: String,
    folder: Option<PathBuf>,
    lenient: bool,
}

impl WireConfigs {
    pub(crate) fn is_lenient(&self) -> bool {
        self.lenient
    }

    pub(crate) fn read(&self) -> Result<Configs, serde_json::Error> {
        let strictness = if self.lenient { Strictness::Lenient } else { Strictness::Strict };
        let mut options = ReadOptions::from(strictness);
        options.folder.clone_from(&self.folder);
        Ok(Configs {
            base: serde_json::from_str(&self.base)?,
            resolved: serde_json::from_str(&self.resolved)?,
            grid: serde_json::from_str(&self.grid)?,
            name: self.name.clone(),
            options,
        })
    }
}

fn described(misplaced: &Misplaced) -> String {
    let Misplaced { path, message, known } = misplaced;
    let key = path.rsplit('.').next().unwrap_or(path);
    match pams_config::suggest(key, known.iter().map(String::as_str)) {
        Some(help) => format!("{path}: {message}; {help}"),
        None => format!("{path}: {message}"),
    }
}
