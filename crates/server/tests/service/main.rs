//! The service as its clients meet it: one module per topic, in one binary, so that it is linked once.

#[cfg(unix)]
mod command;
mod common;
mod concurrent;
mod crowded;
mod crowds;
mod damage;
mod description;
#[cfg(target_os = "linux")]
mod endurance;
#[cfg(target_os = "linux")]
mod full_disk;
mod hostile;
#[cfg(unix)]
mod kills;
#[cfg(unix)]
mod life;
#[cfg(target_os = "linux")]
mod overwritten;
mod page;
mod protection;
mod replaced;
mod requests;
mod same_as_store;
mod similar;
mod similar_queries;
