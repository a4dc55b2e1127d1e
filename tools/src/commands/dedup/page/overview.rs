//! The head of the page: the run, how much it saves, and how the similarities are spread.

use std::collections::BTreeMap;
use std::io::Write;
use std::time::SystemTime;

use bytesize::ByteSize;
use hamdex_documents::{Clusters, Member};
use indicatif::HumanCount;

use crate::failure::Failure;
use crate::html::escape;
use crate::messages::counted;

/// The width of a bar of the histogram: this many per unit of similarity.
const BARS: f64 = 20.0;

/// The bytes of texts, as far as they were read.
#[derive(Default)]
pub(super) struct Bytes {
    pub(super) all: u64,
    pub(super) duplicates: u64,
}

/// Writes the command, the date, the share of duplicates, and the histogram.
pub(super) fn write(clusters: &Clusters, bytes: &Bytes, output: &mut impl Write) -> Result<(), Failure> {
    let documents = clusters.counts().documents;
    let duplicates = clusters.duplicates();
    writeln!(
        output,
        "<p class=\"run\"><code>{}</code> <span class=\"soft\">{}</span></p>",
        escape(&command()),
        humantime::format_rfc3339_seconds(SystemTime::now())
    )?;
    if documents > 0 {
        writeln!(
            output,
            "<p>{:.1} % of the documents are duplicates: {} of {} of text.</p>",
            100.0 * duplicates as f64 / documents as f64,
            ByteSize(bytes.duplicates).display().iec(),
            ByteSize(bytes.all).display().iec()
        )?;
    }
    if duplicates > 0 { histogram(clusters, output) } else { Ok(()) }
}

/// Returns the command line as a shell takes it.
fn command() -> String {
    let quoted = |argument: String| {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./=:,@%+".contains(&byte);
        if !argument.is_empty() && argument.bytes().all(is_plain) {
            return argument;
        }
        format!("'{}'", argument.replace('\'', r"'\''"))
    };
    let arguments =
        std::env::args_os().skip(1).map(|argument| quoted(argument.to_string_lossy().into_owned()));
    std::iter::once("hamdex".to_owned()).chain(arguments).collect::<Vec<_>>().join(" ")
}

/// Writes how many duplicates are how like the kept document.
fn histogram(clusters: &Clusters, output: &mut impl Write) -> Result<(), Failure> {
    let mut bars: BTreeMap<u32, u64> = BTreeMap::new();
    let by_similarity = clusters.members().iter().all(|member| member.similarity.is_some());
    let bar = |member: &Member| match member.similarity {
        // Equal sets have a bar of their own.
        Some(similarity) if by_similarity => (similarity * BARS) as u32,
        _ => member.distance,
    };
    for member in clusters.members().iter().filter(|member| !member.is_kept) {
        *bars.entry(bar(member)).or_default() += 1;
    }
    let most = bars.values().copied().max().unwrap_or(1);
    let what = if by_similarity { "similarity" } else { "distance" };
    writeln!(output, "<table class=\"bars\"><tr><th>{what}</th><th>duplicates</th><th></th></tr>")?;
    for (bar, number) in bars {
        let range = match f64::from(bar) / BARS {
            _ if !by_similarity => counted(bar.into(), "bit", "bits"),
            1.0 => "1".to_owned(),
            from => format!("from {from:.2}"),
        };
        let percent = 100.0 * number as f64 / most as f64;
        writeln!(
            output,
            "<tr><td>{range}</td><td>{}</td><td><span class=\"bar\" style=\"width: {percent:.0}%\"></span></td></tr>",
            HumanCount(number)
        )?;
    }
    Ok(writeln!(output, "</table>")?)
}
