//! `/v1/sets`: the sets, their properties and statistics, and new stores.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use hamdex::set::Description;
use hamdex::{AUTO, Codec, FilterChoice};
use hamdex_any::{Kind, for_width};
use hamdex_documents::Similarity;
use hamdex_simhash::{Fingerprinter, Recipe, Shingler};
use hamdex_store::inspect::StoreStats;
use hamdex_store::{CreateOptions, Durability, for_any_store, health::Health};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::admission::on_thread;
use crate::api::App;
use crate::api::payload::{Named, Optional, PathParts};
use crate::problem::Problem;
use crate::sets::{IdKind, Served, recipe_of};

/// The recipe of a store with shingles, unless another is given.
const DEFAULT_RECIPE: &str = "default";

/// The kind of container of a set.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum KindName {
    File,
    Store,
    Shards,
}

/// The properties of a set.
#[derive(Debug, Default, Serialize, ToSchema)]
pub(crate) struct SetDocument {
    /// Its name.
    #[schema(example = "pages")]
    name: String,
    /// An index file, a store, or a set of shards.
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<KindName>,
    /// The width of the fingerprints, in bits: 64 or 128.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = 64)]
    width: Option<u32>,
    /// The distance for which it is made. Queries at a greater one are as exact, and take longer.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = 3)]
    distance: Option<u32>,
    /// The design of its tables; null if its parts may differ.
    design: Option<String>,
    /// The codec of its blocks; null if its parts may differ.
    codec: Option<String>,
    /// The number of fingerprints: an upper bound, unless `is_exact`.
    fingerprints: u64,
    /// Whether `fingerprints` is exact.
    is_exact: bool,
    /// The kind of its ids.
    #[serde(skip_serializing_if = "Option::is_none")]
    ids: Option<IdKind>,
    /// The recipe that turns texts into its fingerprints; null if there is none.
    recipe: Option<String>,
    /// Whether it keeps the shingles of texts.
    shingles: bool,
    /// Whether records are found by id without a pass over the set.
    lookups: bool,
    /// Whether records can be inserted and removed.
    writable: bool,
    /// When a write is answered: `sync`, `interval=T` or `none`; only of stores.
    #[serde(skip_serializing_if = "Option::is_none")]
    durability: Option<String>,
    /// Counts and costs; only if one set is asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    statistics: Option<Statistics>,
    /// The reason why every request to it fails.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<Problem>,
}

/// Counts and costs of a set.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Statistics {
    /// Bytes of its index files.
    bytes: u64,
    /// Index files: 1, the segments of a store, or the shards.
    parts: usize,
    #[serde(flatten)]
    #[schema(inline)]
    store: Option<StoreStatistics>,
}

/// Counts and costs of a store.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct StoreStatistics {
    /// Records: an upper bound, unless `is_exact` of the set; 0 in a store without ids.
    records: u64,
    /// Records in memory, which the log has as well.
    recent: u64,
    /// Bytes of the records in memory.
    recent_bytes: u64,
    /// Bytes of the logs.
    log_bytes: u64,
    /// Removed records that segments still hold.
    removed: u64,
    /// Batches of writes since the store was created.
    batches: u64,
    /// Bytes written per byte of new segments.
    write_amplification: f64,
    /// Merges: `on`, `paused` or `off`.
    merges: String,
    /// Back-pressure on writers: `none`, `slowed` or `stopped`.
    pressure: String,
    /// Seconds for which the oldest write has waited for a sync; null if there is none.
    unsynced_seconds: Option<f64>,
    /// Background work that fails.
    failures: Vec<FailureDocument>,
}

/// Background work that fails.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct FailureDocument {
    /// The work: `flush`, `merge`, `sync` or `log`.
    work: String,
    /// The last error.
    message: String,
    /// The time of the first failure, in seconds since 1970, UTC.
    since: u64,
    /// Failures in a row.
    attempts: u64,
    /// The action that ends it.
    remedy: String,
}

/// All sets.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SetList {
    /// The sets, by name.
    sets: Vec<SetDocument>,
}

/// The properties of a new store, which are fixed from then on.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct CreateRequest {
    /// The distance of most queries, in bits.
    #[schema(default = 3)]
    distance: u32,
    /// The width of fingerprints, in bits: 64, the default, or 128; of a recipe, its own.
    width: Option<u32>,
    /// The tables of its files: the name of a design, or `auto`.
    #[schema(default = "auto")]
    design: String,
    /// The codec of blocks: `huffman` or `elias-fano`.
    #[schema(default = "huffman")]
    codec: String,
    /// The filters of its files: `auto`, `none`, or the most bits per fingerprint and table.
    #[schema(default = "auto")]
    filter: String,
    /// The kind of ids: numbers, unless there is a recipe; names otherwise.
    ids: Option<IdKind>,
    /// The recipe of texts, such as `default`.
    recipe: Option<String>,
    /// Whether the store keeps the shingles of texts, by which `unless_similar` compares them: runs of five words. It
    /// takes texts and names then; the recipe is `default` unless another is given.
    shingles: bool,
    /// Whether records are found by id without a pass over the set: for `replace`, and removals by id. It takes about 5
    /// bytes per record, and as much per name.
    lookups: bool,
    /// When a write is answered: once it is durable (`sync`), synced within a time (`interval=100ms`), or at once
    /// (`none`).
    #[schema(default = "sync")]
    durability: String,
}

impl Default for CreateRequest {
    fn default() -> Self {
        Self {
            distance: 3,
            width: None,
            design: AUTO.to_owned(),
            codec: Codec::default().to_string(),
            filter: FilterChoice::Auto.to_string(),
            ids: None,
            recipe: None,
            shingles: false,
            lookups: false,
            durability: Durability::Sync.to_string(),
        }
    }
}

impl SetDocument {
    fn of(set: &Served, description: &Description, kind: Kind) -> Self {
        Self {
            name: set.name.clone(),
            kind: Some(match kind {
                Kind::Store => KindName::Store,
                Kind::Shards => KindName::Shards,
                _ => KindName::File,
            }),
            width: Some(description.width),
            distance: Some(description.distance),
            design: description.design.clone(),
            codec: description.codec.map(|codec| codec.to_string()),
            fingerprints: description.fingerprints,
            is_exact: description.is_counted,
            ids: Some(IdKind::of(description)),
            recipe: recipe_of(description),
            shingles: description.has_shingles,
            lookups: description.has_lookups,
            writable: set.written().is_some(),
            durability: set.written().map(|written| written.durability.to_string()),
            statistics: None,
            problem: None,
        }
    }

    /// The document of a set that cannot be opened.
    fn broken(set: &Served, problem: Problem) -> Self {
        Self { name: set.name.clone(), problem: Some(problem), ..Self::default() }
    }

    fn open(set: &Served) -> Result<Self, Problem> {
        let current = set.current()?;
        Ok(Self::of(set, current.description(), current.kind()))
    }
}

impl Statistics {
    fn of(set: &Served) -> Result<Self, Problem> {
        let parts = set.parts()?;
        let bytes = parts.iter().filter_map(|part| part.path.metadata().ok()).map(|file| file.len()).sum();
        let store = match set.written() {
            None => None,
            Some(written) => {
                let stats = for_any_store!(&written.store, store => store.stats());
                Some(StoreStatistics::of(set, stats)?)
            }
        };
        Ok(Self { bytes, parts: parts.len(), store })
    }
}

impl StoreStatistics {
    fn of(set: &Served, stats: StoreStats) -> Result<Self, Problem> {
        let logs = hamdex_store::inspect(&set.path)?.logs;
        let health: Health = stats.health.unwrap_or_default();
        let seconds = |time: SystemTime| time.duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
        let failures = health.failures.into_iter().map(|failure| FailureDocument {
            work: failure.work.to_string(),
            message: failure.message,
            since: seconds(failure.since),
            attempts: failure.attempts,
            remedy: failure.remedy.to_string(),
        });
        Ok(Self {
            records: stats.ids,
            recent: stats.recent,
            recent_bytes: stats.recent_bytes,
            log_bytes: logs.iter().map(|log| log.bytes).sum(),
            removed: stats.removed,
            batches: stats.sequence,
            write_amplification: stats.write_amplification,
            merges: health.merges.to_string(),
            pressure: health.pressure.to_string(),
            unsynced_seconds: health.unsynced.map(|age| age.as_secs_f64()),
            failures: failures.collect(),
        })
    }
}

/// List all sets
#[utoipa::path(
    get, path = "/v1/sets", tag = "sets", operation_id = "list_sets",
    responses(
        (status = 200, description = "The sets.", body = SetList),
        (status = "4XX", description = "The request is wrong.", body = Problem, content_type = "application/problem+json"),
        (status = "5XX", description = "It cannot be answered now.", body = Problem, content_type = "application/problem+json"),
    ),
)]
pub(crate) async fn list(State(app): State<Arc<App>>) -> Result<Json<SetList>, Problem> {
    let of_set = |set: &Arc<Served>| {
        SetDocument::open(set).unwrap_or_else(|problem| SetDocument::broken(set, problem))
    };
    let work = Arc::clone(&app);
    let list = move |_: &_| Ok(Json(SetList { sets: work.sets.all().iter().map(of_set).collect() }));
    app.lanes.queries.run(app.deadline(), list).await
}

/// Get a set with its statistics
#[utoipa::path(
    get, path = "/v1/sets/{set}", tag = "sets", operation_id = "get_set",
    params(("set" = String, Path, description = "The name of the set.")),
    responses(
        (status = 200, description = "The set.", body = SetDocument),
        (status = "4XX", description = "There is no such set.", body = Problem, content_type = "application/problem+json"),
        (status = "5XX", description = "It is damaged.", body = Problem, content_type = "application/problem+json"),
    ),
)]
pub(crate) async fn get(
    State(app): State<Arc<App>>,
    Named(set): Named,
) -> Result<Json<SetDocument>, Problem> {
    let work = move |_: &_| {
        let statistics = Statistics::of(&set)?;
        Ok(Json(SetDocument { statistics: Some(statistics), ..SetDocument::open(&set)? }))
    };
    app.lanes.queries.run(app.deadline(), work).await
}

/// Make a store
///
/// It is made in the directory of the service, and complete when it appears. Its properties are fixed from then on.
#[utoipa::path(
    put, path = "/v1/sets/{set}", tag = "sets", operation_id = "create_set",
    params(("set" = String, Path, description = "The name of the new set: letters, digits, dots, hyphens and underscores.")),
    request_body(content = Option<CreateRequest>, content_type = "application/json"),
    responses(
        (status = 201, description = "The new set.", body = SetDocument),
        (status = 409, description = "There is one of that name.", body = Problem, content_type = "application/problem+json"),
        (status = "4XX", description = "The request is wrong.", body = Problem, content_type = "application/problem+json"),
        (status = "5XX", description = "It cannot be done now.", body = Problem, content_type = "application/problem+json"),
    ),
)]
pub(crate) async fn create(
    State(app): State<Arc<App>>,
    PathParts(name): PathParts<String>,
    Optional(request): Optional<CreateRequest>,
) -> Result<impl IntoResponse, Problem> {
    let checked = request.check()?;
    let place = app.lanes.jobs.admit(Some(app.deadline())).await?;
    // It is completed even if the client goes away.
    let made = on_thread(place, move || {
        let set = app.sets.create(&name, checked.width, &checked.options, checked.durability)?;
        SetDocument::open(&set)
    });
    let document = made.await?;
    tracing::info!(set = document.name, "made a store");
    let location = format!("/v1/sets/{}", document.name);
    Ok((StatusCode::CREATED, [(header::LOCATION, location)], Json(document)))
}

/// Delete a store
///
/// One that PUT has made, with everything in it. Nothing else is deleted: move a set away that has come into the
/// directory by other means. Backups stay.
#[utoipa::path(
    delete, path = "/v1/sets/{set}", tag = "sets", operation_id = "delete_set",
    params(("set" = String, Path, description = "The name of the set.")),
    responses(
        (status = 204, description = "It is deleted."),
        (status = 409, description = "It was not made by PUT, or has files that are not its own.", body = Problem, content_type = "application/problem+json"),
        (status = "4XX", description = "The request is wrong.", body = Problem, content_type = "application/problem+json"),
        (status = "5XX", description = "It cannot be done now.", body = Problem, content_type = "application/problem+json"),
    ),
)]
pub(crate) async fn delete(
    State(app): State<Arc<App>>,
    PathParts(name): PathParts<String>,
) -> Result<StatusCode, Problem> {
    let place = app.lanes.jobs.admit(Some(app.deadline())).await?;
    // It is completed even if the client goes away.
    let deleted = on_thread(place, move || {
        app.sets.delete(&name)?;
        tracing::info!(set = name, "deleted a store");
        Ok(StatusCode::NO_CONTENT)
    });
    deleted.await
}

/// The checked properties of a new store.
struct Checked {
    width: u32,
    options: CreateOptions,
    durability: Durability,
}

impl CreateRequest {
    fn check(self) -> Result<Checked, Problem> {
        let wrong = |field: &str, error: &dyn std::fmt::Display| {
            Problem::unprocessable("bad_property", format!("{field}: {error}"))
        };
        let recipe = self.recipe.or_else(|| self.shingles.then(|| DEFAULT_RECIPE.to_owned()));
        let recipe: Option<Recipe> =
            recipe.map(|text| text.parse()).transpose().map_err(|error| wrong("recipe", &error))?;
        let of_recipe = recipe.as_ref().map(|recipe| recipe.width.bits());
        let width = match (self.width, of_recipe) {
            (Some(width), Some(own)) if width != own => {
                return Err(wrong("width", &format!("{width} contradicts the recipe, whose width is {own}")));
            }
            (width, own) => width.or(own).unwrap_or(u64::BITS),
        };
        if width != u64::BITS && width != u128::BITS {
            return Err(wrong("width", &format!("{width} is not supported; use 64 or 128")));
        }
        if self.distance > width {
            return Err(wrong("distance", &format!("{} is more than the {width} bits", self.distance)));
        }
        let ids = self.ids.unwrap_or(if recipe.is_some() { IdKind::Names } else { IdKind::Numbers });
        if self.shingles && ids != IdKind::Names {
            return Err(wrong("ids", &"a store with shingles has names"));
        }
        if self.lookups && ids == IdKind::None {
            return Err(wrong("lookups", &"records without ids are not found by id"));
        }
        let codec: Codec = self.codec.parse().map_err(|error| wrong("codec", &error))?;
        let filter: FilterChoice = self.filter.parse().map_err(|error| wrong("filter", &error))?;
        let durability: Durability = self.durability.parse().map_err(|error| wrong("durability", &error))?;
        let mut options = CreateOptions::new()
            .distance(self.distance)
            .codec(codec)
            .filter(filter)
            .ids(ids != IdKind::None)
            .names(ids == IdKind::Names)
            .lookups(self.lookups);
        if let Some(recipe) = recipe {
            // One that needs lists of words is refused now, and not with the first text.
            for_width!(width, F => Fingerprinter::<F>::new(&recipe).map(drop))
                .map_err(|error| wrong("recipe", &error))?;
            options = options.recipe(recipe.to_string());
        }
        if self.shingles {
            options = options.shingles(Shingler::new(Similarity::DEFAULT_WORDS).definition());
        }
        if self.design != AUTO {
            options = options.design(self.design);
        }
        Ok(Checked { width, options, durability })
    }
}
