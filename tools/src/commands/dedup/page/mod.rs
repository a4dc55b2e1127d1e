//! Clusters as a page of HTML: the run, how much it saves, and how the similarities are spread; then the kept text and
//! duplicates next to each other.
//!
//! - [`difference`]: two texts with their differences marked

mod difference;

use std::collections::{BTreeMap, HashMap};
use std::io::{BufWriter, Write};
use std::time::SystemTime;

use bytesize::ByteSize;
use hamdex_atomic_file::AtomicFile;
use hamdex_documents::{Clusters, Documents, Error, Extent, Member};
use indicatif::HumanCount;

use crate::commands::dedup::page::difference::{beginning, marked};
use crate::failure::Failure;
use crate::html::{self, escape};
use crate::messages::counted;

/// The most clusters on the page, and the most duplicates of each whose texts are shown.
const MAX_CLUSTERS: usize = 100;
const MAX_TEXTS: usize = 3;

/// The most duplicates next to the threshold that are shown, and the fewest duplicates of which some are.
const MAX_NEAREST: usize = 5;
const MIN_DUPLICATES: u64 = 10;

/// The most ids that are listed of a cluster.
const MAX_IDS: usize = 200;

const STYLE: &str = "\
:root { --lost: #ffd9d0; --added: #cdebd5; --soft: #666; --box: #f5f5f5; }
@media (prefers-color-scheme: dark) { :root { --lost: #6b2a1c; --added: #1d5232; --soft: #aaa; --box: #242424; } }
body { max-width: 80em; }
details.cluster { border-top: 1px solid var(--grid); padding: 0.6em 0; }
summary { cursor: pointer; padding: 0.2em; }
summary:focus-visible { outline: 2px solid currentcolor; outline-offset: 2px; }
summary b { margin-right: 0.5em; }
.soft, .same { color: var(--soft); }
.pair { display: grid; grid-template-columns: 1fr 1fr; gap: 1em; margin: 1em 0; }
.pair > div { min-width: 0; }
.pair h3 { font-size: 1em; margin: 0 0 0.3em; }
.text { background: var(--box); padding: 0.7em; white-space: pre-wrap; margin: 0; }
del { background: var(--lost); text-decoration: line-through; }
ins { background: var(--added); text-decoration: underline; }
ul { margin: 0.5em 0; padding-left: 1.3em; }
#search { margin: 1em 0; }
.bars { border-spacing: 0.6em 0.1em; margin: 1em 0; }
.bars th { font-weight: normal; text-align: left; color: var(--soft); }
.bars td:nth-child(2) { text-align: right; }
.bars td:last-child { width: 20em; }
.bar { display: block; height: 0.8em; min-width: 1px; background: var(--soft); }
@media (max-width: 45em) { .pair { grid-template-columns: 1fr; gap: 0.5em; } }
";

/// A field that hides the clusters without the words that it is given, in ids and texts.
const SEARCH: &str = r#"<form id="search" hidden onsubmit="return false">
<label>Search ids and texts: <input type="search"></label> <output class="soft"></output>
</form>
<script>
const form = document.getElementById("search");
form.hidden = false;
form.addEventListener("input", () => {
  const words = form.querySelector("input").value.toLowerCase().split(/\s+/).filter(Boolean);
  const clusters = [...document.querySelectorAll("details.cluster")];
  for (const cluster of clusters) {
    const text = cluster.textContent.toLowerCase();
    cluster.hidden = !words.every((word) => text.includes(word));
  }
  const found = clusters.filter((cluster) => !cluster.hidden).length;
  form.querySelector("output").textContent = words.length ? `${found} of ${clusters.length}` : "";
});
</script>
"#;

/// A cluster that is shown.
struct Shown<'c> {
    extent: Extent,
    members: &'c [Member],
    /// The duplicates whose texts are shown: those least like the kept document.
    compared: Vec<Member>,
}

/// Writes the largest clusters; reads the documents again for their texts.
pub(super) fn write(
    file: AtomicFile,
    clusters: &Clusters,
    documents: &Documents,
    rule: &str,
) -> Result<(), Failure> {
    let shown: Vec<Shown<'_>> = clusters
        .largest(MAX_CLUSTERS)
        .into_iter()
        .map(|extent| Shown::of(extent, clusters.members()))
        .collect();
    let nearest = next_to_threshold(clusters);
    let (texts, bytes) = texts(&shown, &nearest, clusters, documents)?;
    let mut output = BufWriter::new(file);
    let title = format!(
        "{}, {}",
        counted(clusters.count(), "cluster", "clusters"),
        counted(clusters.duplicates(), "duplicate", "duplicates")
    );
    output.write_all(html::start(&format!("hamdex dedup: {title}"), STYLE).as_bytes())?;
    writeln!(output, "<h1>{title}</h1>")?;
    writeln!(
        output,
        "<p>Among {}. {} In each pair, the kept text is the first; <del>words that it has alone</del> and <ins>words that \
         the duplicate has alone</ins> are marked.</p>",
        counted(clusters.counts().documents, "document", "documents"),
        escape(rule)
    )?;
    write_overview(clusters, &bytes, &mut output)?;
    if shown.len() > 1 {
        output.write_all(SEARCH.as_bytes())?;
    }
    if !nearest.is_empty() {
        write_nearest(&nearest, clusters, &texts, &mut output)?;
    }
    if clusters.count() > shown.len() as u64 {
        writeln!(output, "<p>The {} largest clusters are shown.</p>", HumanCount(shown.len() as u64))?;
    }
    for (number, cluster) in shown.iter().enumerate() {
        cluster.write(number == 0, clusters, &texts, &mut output)?;
    }
    output.write_all(html::END.as_bytes())?;
    Ok(output.into_inner().map_err(std::io::IntoInnerError::into_error)?.finish()?)
}

/// Texts by document, and whether each is whole.
type Texts = HashMap<u32, (String, bool)>;

/// Reads the texts that are shown, and the lengths of all.
fn texts(
    shown: &[Shown<'_>],
    nearest: &[(u32, Member)],
    clusters: &Clusters,
    documents: &Documents,
) -> Result<(Texts, Bytes), Failure> {
    let mut texts = HashMap::new();
    for cluster in shown {
        texts.insert(cluster.extent.kept, Default::default());
        texts.extend(cluster.compared.iter().map(|member| (member.document, Default::default())));
    }
    for (kept, member) in nearest {
        texts.extend([(*kept, Default::default()), (member.document, Default::default())]);
    }
    let mut is_duplicate = vec![false; clusters.counts().documents as usize];
    for member in clusters.members().iter().filter(|member| !member.is_kept) {
        is_duplicate[member.document as usize] = true;
    }
    let (mut number, mut bytes) = (0u32, Bytes::default());
    documents.read(|document| {
        if let Some(text) = texts.get_mut(&number) {
            let (beginning, is_all) = beginning(&document.text);
            *text = (beginning.to_owned(), is_all);
        }
        let length = document.text.len() as u64;
        bytes.all += length;
        if is_duplicate.get(number as usize).is_some_and(|is_duplicate| *is_duplicate) {
            bytes.duplicates += length;
        }
        number += 1;
        Ok::<(), Error>(())
    })?;
    Ok((texts, bytes))
}

/// Orders duplicates, those least like the kept document first.
fn by_likeness(one: &Member, other: &Member) -> std::cmp::Ordering {
    let by_similarity = one.similarity.partial_cmp(&other.similarity).unwrap_or(std::cmp::Ordering::Equal);
    by_similarity.then(other.distance.cmp(&one.distance)).then(one.document.cmp(&other.document))
}

/// Returns the duplicates least like their kept documents, each behind the kept one, where a glance at the clusters would
/// not show them.
fn next_to_threshold(clusters: &Clusters) -> Vec<(u32, Member)> {
    if clusters.duplicates() < MIN_DUPLICATES {
        return Vec::new();
    }
    let is_other = |member: &Member| match member.similarity {
        Some(similarity) => similarity < 1.0,
        None => member.distance > 0,
    };
    let mut nearest: Vec<(u32, Member)> = Vec::new();
    for members in clusters.members().chunk_by(|one, other| one.cluster == other.cluster) {
        let Some(kept) = members.iter().find(|member| member.is_kept) else { continue };
        let others = members.iter().filter(|member| !member.is_kept && is_other(member));
        nearest.extend(others.map(|member| (kept.document, *member)));
        if nearest.len() > 1 << 12 {
            keep_nearest(&mut nearest);
        }
    }
    keep_nearest(&mut nearest);
    nearest
}

fn keep_nearest(nearest: &mut Vec<(u32, Member)>) {
    nearest.sort_by(|one, other| by_likeness(&one.1, &other.1));
    nearest.truncate(MAX_NEAREST);
}

fn write_nearest(
    nearest: &[(u32, Member)],
    clusters: &Clusters,
    texts: &Texts,
    output: &mut impl Write,
) -> Result<(), Failure> {
    writeln!(
        output,
        "<details class=\"cluster\"><summary><b>Next to the threshold</b>the duplicates least like the kept text</summary>"
    )?;
    for (kept, member) in nearest {
        write_pair(*kept, member, clusters, texts, output)?;
    }
    Ok(writeln!(output, "</details>")?)
}

/// Writes a kept text and a duplicate next to each other.
fn write_pair(
    kept: u32,
    member: &Member,
    clusters: &Clusters,
    texts: &Texts,
    output: &mut impl Write,
) -> Result<(), Failure> {
    let none = (String::new(), true);
    let text = |document: u32| texts.get(&document).unwrap_or(&none);
    let (kept_text, duplicate) = (text(kept), text(member.document));
    let [one, other] = marked(&kept_text.0, &duplicate.0);
    writeln!(output, "<div class=\"pair\">")?;
    side(output, "kept", &escape(&clusters.id(kept)?), "", (&one, kept_text.1))?;
    let id = escape(&clusters.id(member.document)?);
    side(output, "duplicate", &id, &format!(", {}", likeness(member)), (&other, duplicate.1))?;
    Ok(writeln!(output, "</div>")?)
}

impl<'c> Shown<'c> {
    fn of(extent: Extent, members: &'c [Member]) -> Self {
        let start = members.partition_point(|member| member.cluster < extent.cluster);
        let end = members.partition_point(|member| member.cluster <= extent.cluster);
        let members = &members[start..end];
        let mut compared: Vec<Member> = members.iter().copied().filter(|member| !member.is_kept).collect();
        compared.sort_by(by_likeness);
        compared.truncate(MAX_TEXTS);
        Self { extent, members, compared }
    }

    fn write(
        &self,
        is_open: bool,
        clusters: &Clusters,
        texts: &Texts,
        output: &mut impl Write,
    ) -> Result<(), Failure> {
        let Extent { cluster, kept, documents, .. } = self.extent;
        let kept_id = escape(&clusters.id(kept)?);
        writeln!(
            output,
            "<details class=\"cluster\"{}><summary><b>{}</b>{kept_id} <span class=\"soft\">cluster {cluster}, {}</span></summary>",
            if is_open { " open" } else { "" },
            counted(documents, "document", "documents"),
            self.range(),
        )?;
        for member in &self.compared {
            write_pair(kept, member, clusters, texts, output)?;
        }
        self.write_others(clusters, output)?;
        Ok(writeln!(output, "</details>")?)
    }

    /// Lists the duplicates whose texts are not shown.
    fn write_others(&self, clusters: &Clusters, output: &mut impl Write) -> Result<(), Failure> {
        let is_shown = |member: &Member| {
            member.is_kept || self.compared.iter().any(|shown| shown.document == member.document)
        };
        let others: Vec<&Member> = self.members.iter().filter(|member| !is_shown(member)).collect();
        if others.is_empty() {
            return Ok(());
        }
        writeln!(output, "<p>Other duplicates, at least as like the kept text:</p>\n<ul>")?;
        for member in others.iter().take(MAX_IDS) {
            let id = escape(&clusters.id(member.document)?);
            writeln!(output, "<li>{id} <span class=\"soft\">{}</span></li>", likeness(member))?;
        }
        if others.len() > MAX_IDS {
            writeln!(output, "<li>and {} more</li>", HumanCount((others.len() - MAX_IDS) as u64))?;
        }
        Ok(writeln!(output, "</ul>")?)
    }

    /// Returns how like the kept document the others are.
    fn range(&self) -> String {
        match self.extent.least_similarity {
            Some(least) => format!("similarity at least {least:.2}"),
            None => format!("up to {}", counted(self.extent.greatest_distance.into(), "bit", "bits")),
        }
    }
}

/// Writes one text of a pair.
fn side(
    output: &mut impl Write,
    what: &str,
    id: &str,
    likeness: &str,
    (text, is_all): (&str, bool),
) -> Result<(), Failure> {
    let rest = if is_all { "" } else { " <span class=\"same\">[the rest is not shown]</span>" };
    Ok(writeln!(
        output,
        "<div><h3>{id} <span class=\"soft\">{what}{likeness}</span></h3>\n<p class=\"text\" dir=\"auto\">{text}{rest}</p></div>"
    )?)
}

fn likeness(member: &Member) -> String {
    let bits = counted(member.distance.into(), "bit", "bits");
    match member.similarity {
        Some(similarity) => format!("similarity {similarity:.3}, {bits}"),
        None => bits,
    }
}

/// The width of a bar of the histogram: this many per unit of similarity.
const BARS: f64 = 20.0;

/// The bytes of texts, as far as they were read.
#[derive(Default)]
pub(super) struct Bytes {
    pub(super) all: u64,
    pub(super) duplicates: u64,
}

/// Writes the command, the date, the share of duplicates, and the histogram.
fn write_overview(clusters: &Clusters, bytes: &Bytes, output: &mut impl Write) -> Result<(), Failure> {
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
