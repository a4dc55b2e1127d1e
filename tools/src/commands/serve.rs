//! `hamdex serve`: sets over the network.

use hamdex_server::Options;

use crate::failure::Failure;
use crate::messages;

/// Serve sets over HTTP, to several processes and languages.
///
/// Clients query index files, stores and sets of shards, and change stores. New stores are created in the directory
/// of --data. GET /openapi.json describes every request, and / is a page that shows the sets.
///
/// A line on standard error has the address when the service is ready. Each option can also be in the environment,
/// as HAMDEX_LISTEN for --listen, or in the TOML file of --config. The command line counts first, then the
/// environment.
///
/// SIGTERM ends the service: it accepts no more requests, finishes running ones and closes the stores. SIGHUP makes
/// it read certificates and tokens again. No acknowledged insert is lost, however the service ends.
#[derive(clap::Args)]
#[command(after_help = "\
Example:
  hamdex serve news.hamdex pages.store
  hamdex serve --data /var/lib/hamdex --listen 0.0.0.0:7700 --token-file /etc/hamdex/token
  curl -X PUT localhost:7700/v1/sets/pages
  curl localhost:7700/v1/sets/pages/insert -H 'Content-Type: application/json' \\
    -d '{\"records\":[{\"fingerprint\":\"0123456789abcdef\",\"id\":17}],\"unless_near\":3}'")]
pub(crate) struct Args {
    #[command(flatten)]
    options: Options,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let announce = |url: &str| messages::summary(format_args!("listening on {url}"));
    Ok(hamdex_server::run(args.options.clone(), messages::is_quiet(), announce)?)
}
