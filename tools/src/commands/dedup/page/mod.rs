//! Clusters as a page of HTML: the kept text and duplicates next to each other.
//!
//! - [`difference`]: two texts with their differences marked

mod difference;

use std::collections::HashMap;
use std::io::{BufWriter, Write};

use hamdex_atomic_file::AtomicFile;
use hamdex_documents::{Clusters, Documents, Error, Extent, Member};
use indicatif::HumanCount;

use crate::commands::dedup::page::difference::{beginning, marked};
use crate::escape::escape;
use crate::failure::Failure;
use crate::html;
use crate::messages::counted;

/// The most clusters on the page, and the most duplicates of each whose texts are shown.
const MAX_CLUSTERS: usize = 100;
const MAX_TEXTS: usize = 3;

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
@media (max-width: 45em) { .pair { grid-template-columns: 1fr; gap: 0.5em; } }
";

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
    let texts = texts(&shown, documents)?;
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
    if clusters.count() > shown.len() as u64 {
        writeln!(output, "<p>The {} largest clusters are shown.</p>", HumanCount(shown.len() as u64))?;
    }
    for (number, cluster) in shown.iter().enumerate() {
        cluster.write(number == 0, clusters, &texts, &mut output)?;
    }
    output.write_all(html::END.as_bytes())?;
    Ok(output.into_inner().map_err(std::io::IntoInnerError::into_error)?.finish()?)
}

/// Reads the texts that are shown, by document, and whether each is whole.
fn texts(shown: &[Shown<'_>], documents: &Documents) -> Result<HashMap<u32, (String, bool)>, Failure> {
    let mut texts = HashMap::new();
    for cluster in shown {
        texts.insert(cluster.extent.kept, Default::default());
        texts.extend(cluster.compared.iter().map(|member| (member.document, Default::default())));
    }
    let mut number = 0u32;
    documents.read(|document| {
        if let Some(text) = texts.get_mut(&number) {
            let (beginning, is_all) = beginning(&document.text);
            *text = (beginning.to_owned(), is_all);
        }
        number += 1;
        Ok::<(), Error>(())
    })?;
    Ok(texts)
}

impl<'c> Shown<'c> {
    fn of(extent: Extent, members: &'c [Member]) -> Self {
        let start = members.partition_point(|member| member.cluster < extent.cluster);
        let end = members.partition_point(|member| member.cluster <= extent.cluster);
        let members = &members[start..end];
        let mut compared: Vec<Member> = members.iter().copied().filter(|member| !member.is_kept).collect();
        compared.sort_by(|one, other| {
            let by_similarity =
                one.similarity.partial_cmp(&other.similarity).unwrap_or(std::cmp::Ordering::Equal);
            by_similarity.then(other.distance.cmp(&one.distance)).then(one.document.cmp(&other.document))
        });
        compared.truncate(MAX_TEXTS);
        Self { extent, members, compared }
    }

    fn write(
        &self,
        is_open: bool,
        clusters: &Clusters,
        texts: &HashMap<u32, (String, bool)>,
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
        let none = (String::new(), true);
        let text = |document: u32| texts.get(&document).unwrap_or(&none);
        for member in &self.compared {
            let (kept_text, duplicate) = (text(kept), text(member.document));
            let [one, other] = marked(&kept_text.0, &duplicate.0);
            let id = escape(&clusters.id(member.document)?);
            writeln!(output, "<div class=\"pair\">")?;
            side(output, "kept", &kept_id, "", (&one, kept_text.1))?;
            side(output, "duplicate", &id, &format!(", {}", likeness(member)), (&other, duplicate.1))?;
            writeln!(output, "</div>")?;
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
