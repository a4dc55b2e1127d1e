//! `hamdex serve`: sets over the network.

use hamdex_server::Options;

use crate::failure::Failure;
use crate::messages;

/// Serve sets over HTTP, to several processes and languages.
///
/// Index files, stores and sets of shards are queried; stores also take inserts and removals. New stores are
/// made in the directory that --data names. GET /openapi.json describes every request, and / is a page to look
/// at the sets.
///
/// One line on standard error says the address once requests are answered. Each option can also stand in the
/// environment, as HAMDEX_LISTEN for --listen, or in the TOML file that --config names; the command line counts
/// first, then the environment.
///
/// SIGTERM ends the service: it accepts nothing more, ends running requests and closes the stores. SIGHUP
/// makes it read certificates and tokens again. What was answered as inserted is not lost, however it ends.
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
