//! The durability of acknowledged writes.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use hamdex::ParseOptionError;

/// The durability of acknowledged writes. In each case a batch is atomic across a crash, and no batch survives that
/// comes after a lost one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Durability {
    /// An acknowledged write survives power loss. Concurrent writers share a sync.
    #[default]
    Sync,
    /// The log is synced at this interval. Power loss loses at most the writes that were acknowledged in the last
    /// interval; a killed process loses nothing.
    Interval(Duration),
    /// The log is synced only by a flush or when the store is closed. A killed process loses nothing.
    None,
}

impl FromStr for Durability {
    type Err = ParseOptionError;

    fn from_str(text: &str) -> Result<Self, ParseOptionError> {
        let interval = text.strip_prefix("interval=").and_then(parse_time);
        match (text, interval) {
            ("sync", _) => Ok(Self::Sync),
            ("none", _) => Ok(Self::None),
            (_, Some(time)) => Ok(Self::Interval(time)),
            _ => Err(ParseOptionError::new(format!(
                "invalid durability {text:?}: use sync, none, or interval=T with a time such as 100ms or 2s"
            ))),
        }
    }
}

/// Parses a positive number of milliseconds, seconds or minutes.
fn parse_time(text: &str) -> Option<Duration> {
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, unit) = text.split_at(digits);
    let unit_milliseconds = match unit {
        "ms" => 1,
        "s" => 1_000,
        "min" => 60_000,
        _ => return None,
    };
    let milliseconds = number.parse::<u64>().ok()?.checked_mul(unit_milliseconds)?;
    (milliseconds > 0).then(|| Duration::from_millis(milliseconds))
}

impl fmt::Display for Durability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sync => f.write_str("sync"),
            Self::Interval(time) => write!(f, "interval={}ms", time.as_millis()),
            Self::None => f.write_str("none"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_it_prints_it_reads() {
        for durability in
            [Durability::Sync, Durability::None, Durability::Interval(Duration::from_millis(1500))]
        {
            assert_eq!(durability.to_string().parse(), Ok(durability));
        }
        assert_eq!("interval=2s".parse(), Ok(Durability::Interval(Duration::from_secs(2))));
        assert_eq!("interval=3min".parse(), Ok(Durability::Interval(Duration::from_secs(180))));
    }

    #[test]
    fn other_texts_are_refused() {
        let huge = format!("interval={}min", u64::MAX);
        for text in
            ["", "Sync", "interval", "interval=", "interval=5", "interval=0s", "interval=-1s", "5s", &huge]
        {
            let error = text.parse::<Durability>().unwrap_err();
            assert!(error.to_string().contains(&format!("{text:?}")), "{error}");
        }
    }
}
