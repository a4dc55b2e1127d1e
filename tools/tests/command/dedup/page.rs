//! `hamdex dedup --html`: clusters as a page.

use crate::common::{Scratch, altered, json_line, story};

fn page(scratch: &Scratch, args: &[&str]) -> String {
    assert_eq!(scratch.output(&[&["dedup", "--html", "out.html", "--force"], args].concat()), "");
    let page = std::fs::read_to_string(scratch.path("out.html")).unwrap();
    assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>\n"), "{page}");
    page
}

/// Two clusters, of three and of two documents, and one document alone.
fn corpus() -> String {
    let texts = [story(1), story(2), story(1), altered(&story(2)), altered(&story(1)), story(3)];
    let ids = ["a<b>", "two", "a again", "like two", "like \"a\"", "alone"];
    ids.iter().zip(texts).map(|(id, text)| json_line(id, &text)).collect()
}

#[test]
fn the_largest_cluster_comes_first_and_differences_are_marked() {
    let scratch = Scratch::new();
    scratch.write("in.jsonl", corpus());
    let found = page(&scratch, &["in.jsonl"]);
    assert!(
        found.contains("<h1>2 clusters, 3 duplicates</h1>") && found.contains("Among 6 documents."),
        "{found}"
    );
    assert!(found.contains("if they share at least 0.7 of their shingles of 5 words."), "{found}");
    assert!(found.contains("<code>hamdex dedup --html out.html --force in.jsonl</code>"), "{found}");
    assert!(found.contains("50.0 % of the documents are duplicates: "), "{found}");
    assert!(
        found.contains("<tr><td>1</td><td>1</td>") && !found.contains("Next to the threshold"),
        "{found}"
    );
    let first = found.find("<b>3 documents</b>a&lt;b&gt;").unwrap();
    let second = found.find("<b>2 documents</b>two").unwrap();
    assert!(first < second && found.matches("<details").count() == 2 && found.matches(" open>").count() == 1);
    assert_eq!(found.matches("<ins>altered</ins>").count(), 2, "{found}");
    assert!(found.contains("like &quot;a&quot; <span class=\"soft\">duplicate, similarity 0."), "{found}");
    assert!(found.contains("a again <span class=\"soft\">duplicate, similarity 1.000, 0 bits"), "{found}");
    // Nothing is loaded, and nothing runs other than the search.
    for foreign in ["http:", "https:", "src=", "@import", "url("] {
        assert!(!found.contains(foreign), "{foreign}");
    }
    let script = &found[found.find("<script>").unwrap()..found.find("</script>").unwrap()];
    assert!(found.matches("<script").count() == 1 && script.len() < 1000, "{script}");
    assert!(found.contains("<input type=\"search\">"));
    assert!(!found.contains(&story(3)));
    // The same from standard input, next to other results.
    let mut command = scratch.hamdex(&["dedup", "--html", "piped.html", "--json"]);
    let output = command.write_stdin(corpus()).assert().success();
    assert_eq!(String::from_utf8_lossy(&output.get_output().stdout).lines().count(), 5);
    let piped = std::fs::read_to_string(scratch.path("piped.html")).unwrap();
    let [piped, found] =
        [&piped, &found].map(|page| page.lines().filter(|line| !line.contains("class=\"run\"")));
    assert!(piped.eq(found));
    assert!(page(&scratch, &["in.jsonl", "-k", "8"]).contains("up to "));
}

#[test]
fn of_many_duplicates_those_next_to_the_threshold_are_shown_as_well() {
    let scratch = Scratch::new();
    let pair =
        |n| json_line(&format!("{n}"), &story(n)) + &json_line(&format!("{n} again"), &altered(&story(n)));
    scratch.write("in.jsonl", (0..12).map(pair).collect::<String>());
    let found = page(&scratch, &["in.jsonl"]);
    let (start, end) =
        (found.find("Next to the threshold").unwrap(), found.find("<b>2 documents</b>").unwrap());
    assert_eq!(found[start..end].matches("class=\"pair\"").count(), 5, "{found}");
    assert_eq!(found.matches("class=\"pair\"").count(), 12 + 5);
    let by_distance = page(&scratch, &["in.jsonl", "-k", "8"]);
    assert!(by_distance.contains("<th>distance</th>") && by_distance.contains(" bits</td>"), "{by_distance}");
}

#[test]
fn a_page_is_bounded_and_an_input_is_never_replaced() {
    let scratch = Scratch::new();
    let many: String = (0..250).map(|copy| json_line(&format!("copy {copy}"), &story(1))).collect();
    scratch.write("in.jsonl", many);
    let found = page(&scratch, &["in.jsonl"]);
    assert_eq!(found.matches("class=\"pair\"").count(), 3);
    assert!(found.contains("<li>and 46 more</li>"), "{found}");
    scratch.write("none.jsonl", json_line("a", &story(1)) + &json_line("b", &story(2)));
    assert!(page(&scratch, &["none.jsonl"]).contains("<h1>0 clusters, 0 duplicates</h1>"));
    let (code, text) = scratch.failure(&["dedup", "in.jsonl", "--html", "in.jsonl", "--force"]);
    assert!(code == 2 || code == 1, "{text}");
    assert_eq!(scratch.failure(&["dedup", "in.jsonl", "--html", "out.html"]).0, 1);
    let twice = ["dedup", "in.jsonl", "--html", "new.csv", "-o", "./new.csv", "--force"];
    let (code, text) = scratch.failure(&twice);
    assert!(code == 2 && text.contains("two outputs have this name"), "{text}");
    assert!(!scratch.path("new.csv").exists());
    scratch.write("bad.jsonl", "{}\n");
    scratch.failure(&["dedup", "--quiet", "bad.jsonl", "--html", "new.html"]);
    assert!(!scratch.path("new.html").exists());
}

#[test]
fn a_page_and_the_documents_that_remain_are_written_together() {
    let scratch = Scratch::new();
    scratch.write("in.jsonl", corpus());
    let page = page(&scratch, &["in.jsonl", "--unique", "-o", "unique.jsonl"]);
    assert!(page.contains("<h1>2 clusters, 3 duplicates</h1>"), "{page}");
    let unique = std::fs::read_to_string(scratch.path("unique.jsonl")).unwrap();
    assert_eq!(
        unique,
        [("a<b>", 1), ("two", 2), ("alone", 3)].map(|(id, text)| json_line(id, &story(text))).concat()
    );
    let piped = scratch.output(&["dedup", "in.jsonl", "--unique", "--html", "other.html"]);
    assert_eq!((piped, scratch.names().contains(&"other.html".to_owned())), (unique, true));
}
