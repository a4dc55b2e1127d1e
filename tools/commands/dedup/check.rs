//! The value of `--check`.

/// The least share of common shingles.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Threshold {
    pub(super) jaccard: f64,
}

impl std::str::FromStr for Threshold {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let value = text.strip_prefix("jaccard=").and_then(|value| value.parse::<f64>().ok());
        match value.filter(|value| (0.0..=1.0).contains(value)) {
            Some(jaccard) => Ok(Self { jaccard }),
            None => Err("expected jaccard= and a number from 0 to 1, as in jaccard=0.8".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thresholds_are_read() {
        assert_eq!("jaccard=0.8".parse(), Ok(Threshold { jaccard: 0.8 }));
        for wrong in ["0.8", "jaccard=80", "jaccard=", "jaccard=NaN", "cosine=0.5"] {
            assert!(wrong.parse::<Threshold>().unwrap_err().contains("jaccard=0.8"), "{wrong}");
        }
    }
}
