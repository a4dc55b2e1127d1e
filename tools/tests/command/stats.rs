//! `hamdex dump --stats`: the spread of the fingerprints, for a terminal and as a page.

use crate::common::{Scratch, json_line, json_lines, story};

/// The statistics of an index as a page; nothing is printed.
fn page(scratch: &Scratch, index: &str) -> String {
    let html = format!("{index}.html");
    assert_eq!(scratch.output(&["dump", index, "--stats", "--html", &html]), "");
    let page = std::fs::read_to_string(scratch.path(&html)).unwrap();
    assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>\n"), "{page}");
    page
}

/// An index with a text that three documents have; a fourth has another.
fn with_names() -> Scratch {
    let scratch = Scratch::new();
    let ids = ["a&b", "<two>", "caf\u{e9} 3.txt", "four", "alone"];
    let text = |id: &str| if id == "alone" { story(2) } else { story(1) };
    scratch.write("in.jsonl", ids.map(|id| json_line(id, &text(id))).concat());
    scratch.output(&["build", "-o", "a.hamdex", "--documents", "in.jsonl"]);
    scratch
}

#[test]
fn a_page_states_design_codec_recipe_and_size_and_shows_near_distances() {
    let scratch = with_names();
    let found = page(&scratch, "a.hamdex");
    assert!(found.contains(": everything within 3 bits</dd>"), "{found}");
    for fact in
        ["<dt>design</dt><dd>", "<dt>codec</dt><dd>huffman</dd>", "<dt>recipe</dt><dd>", "<dt>size</dt><dd>"]
    {
        assert!(found.contains(fact), "{fact}: {found}");
    }
    assert!(found.contains("the near end at a scale of its own"), "{found}");
    scratch.write("bare.txt", "00000000000000ff\n");
    scratch.output(&["build", "-o", "bare.hamdex", "bare.txt"]);
    assert!(page(&scratch, "bare.hamdex").contains("none: bare fingerprints"));
}

#[test]
fn statistics_name_the_spikes() {
    let scratch = Scratch::new();
    let mut lines: String =
        (0..3000u64).map(|i| format!("{:016x}\n", i.wrapping_mul(0x9e37_79b9_7f4a_7c15))).collect();
    lines.push_str(&"00000000000000ff\n".repeat(500));
    lines.extend((0..200u64).map(|i| format!("ab{:014x}\n", i * 77)));
    scratch.write("in.txt", lines);
    scratch.output(&["build", "-o", "a.hamdex", "--ids", "row", "in.txt"]);
    let text = scratch.output(&["dump", "a.hamdex", "--stats"]);
    for expected in [
        "3,201 distinct fingerprints of 64 bits",
        "fingerprints start with 10101011",
        "00000000000000ff           500 ids   13.5 %",
        "distances between the pairs of 1,601 fingerprints",
        "h, the first bit in which a fingerprint differs",
    ] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
}

#[test]
fn the_page_loads_nothing_and_labels_the_ends_and_the_middle_of_its_charts() {
    let scratch = Scratch::new();
    let lines = (0..300u64).map(|i| format!("{:016x}\n", i.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
    scratch.write("in.txt", lines.collect::<String>());
    scratch.output(&["build", "-o", "a.hamdex", "--ids", "row", "in.txt"]);
    let page = page(&scratch, "a.hamdex");
    assert_eq!(page.matches("<svg").count(), 4);
    for loaded in ["http:", "https:", "src=", "href=", "<script", "@import"] {
        assert!(!page.contains(loaded), "{loaded}");
    }
    let charts: Vec<&str> = page.split("<figure>").skip(1).collect();
    for (chart, [first, middle, last]) in
        charts.iter().zip([["00", "80", "ff"], ["0", "32", "64"], ["0", "8", "16"], ["0", "32", "63"]])
    {
        let (_, axis) = chart.split_once("<div class=\"x\">").unwrap();
        assert!(
            ["0.", "2."].iter().any(|at| axis.starts_with(&format!("<span style=\"left:{at}"))),
            "{axis}"
        );
        let labels: Vec<&str> = axis.split("</div>").next().unwrap().split("</span>").collect();
        let has = |label: &&str, text: &str| label.ends_with(&format!("%\">{text}"));
        assert!(has(&labels[0], first), "{labels:?}");
        assert!(has(&labels[labels.len() - 2], last), "{labels:?}");
        assert!(labels.iter().any(|label| has(label, middle)), "{labels:?}");
    }
    assert!(page.contains("h is the first bit position"));
    assert!(page.contains("44,850 pairs of the 300 fingerprints"));
    assert!(page.contains("No fingerprint has more than one id."));
}

#[test]
fn the_page_shows_the_names_of_documents() {
    let scratch = with_names();
    let page = page(&scratch, "a.hamdex");
    assert!(page.contains("<th>documents</th>"), "{page}");
    assert!(page.contains("<td>a&amp;b; &lt;two&gt;; caf\u{e9} 3.txt and 1 more</td>"), "{page}");
    let text = scratch.output(&["dump", "a.hamdex", "--stats"]);
    assert!(text.contains("a&b; <two>; caf\u{e9} 3.txt and 1 more"), "{text}");
}

#[test]
fn one_of_a_thing_is_singular_and_none_is_no_chart() {
    let scratch = Scratch::new();
    for (count, said) in [
        (0, "</dl>\n<p>There is nothing to show.</p>"),
        (1, "<p>1 distinct fingerprint of 64 bits.</p>"),
        (2, "Bars: 1 pair of the 2 fingerprints"),
    ] {
        let (input, index) = (format!("{count}.txt"), format!("{count}.hamdex"));
        scratch.write(&input, (0..count).map(|x| format!("{x:016x}\n")).collect::<String>());
        scratch.output(&["build", "-o", &index, &input]);
        scratch.output(&["dump", &index, "--stats"]);
        let page = page(&scratch, &index);
        assert!(page.contains(said), "{page}");
        assert_eq!(page.matches("<svg").count(), [0, 1, 4][count], "{page}");
    }
}

#[test]
fn statistics_and_fingerprints_are_printed_for_programs_too() {
    let scratch = with_names();
    let stats: serde_json::Value =
        serde_json::from_str(&scratch.output(&["dump", "a.hamdex", "--stats", "--json"])).unwrap();
    let listed = json_lines(&scratch.output(&["dump", "a.hamdex", "--fingerprints", "--json"]));
    let count = listed.len() as u64;
    assert_eq!((&stats["width"], &stats["fingerprints"]), (&64.into(), &count.into()));
    let spike = &stats["most_ids"][0];
    assert_eq!(spike["first_ids"], serde_json::json!(["a&b", "<two>", "caf\u{e9} 3.txt"]));
    assert_eq!(spike["ids"], 4);
    assert!(listed.iter().any(|line| line["fingerprint"] == spike["fingerprint"]));
    let sum = |name: &str| -> u64 {
        stats[name].as_array().unwrap().iter().map(|count| count.as_u64().unwrap()).sum()
    };
    assert_eq!((sum("by_leading_bits"), sum("by_distance")), (count, count * (count - 1) / 2));
    assert_eq!(scratch.failure(&["dump", "a.hamdex", "--stats", "--json", "--html", "x"]).0, 2);
}
