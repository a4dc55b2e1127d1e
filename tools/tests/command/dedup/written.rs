//! Files of clusters, and of what is left without the duplicates.

use super::corpus;
use crate::common::{Scratch, json_line, story};

#[test]
fn clusters_are_written_to_files() {
    let scratch = Scratch::new();
    scratch.write("in.jsonl", corpus());
    let args = ["dedup", "in.jsonl", "--distance", "8"];
    let json = scratch.output(&[&args[..], &["--json"]].concat());
    assert_eq!(scratch.output(&[&args[..], &["--out", "out.jsonl"]].concat()), "");
    assert_eq!(std::fs::read_to_string(scratch.path("out.jsonl")).unwrap(), json);
    scratch.output(&[&args[..], &["--out", "out.csv"]].concat());
    let csv = std::fs::read_to_string(scratch.path("out.csv")).unwrap();
    assert!(csv.starts_with("cluster,id,kept,distance\n1,one,true,0\n1,one again,false,"), "{csv}");
    scratch.output(&["dedup", "in.jsonl", "--out", "similar.csv"]);
    let csv = std::fs::read_to_string(scratch.path("similar.csv")).unwrap();
    assert!(
        csv.starts_with("cluster,id,kept,distance,similarity\n1,one,true,0,1.0\n1,one again,false,"),
        "{csv}"
    );
    let (code, text) = scratch.failure(&[&args[..], &["--out", "out.txt"]].concat());
    assert!(
        text.contains("must end in .jsonl, .csv, .tsv (also with .zst or .gz), .parquet or .arrow"),
        "{text}"
    );
    assert_eq!(code, 2);
}

#[cfg(feature = "parquet")]
#[test]
fn clusters_are_written_as_parquet() {
    let scratch = Scratch::new();
    scratch.write("in.jsonl", corpus());
    scratch.output(&["dedup", "in.jsonl", "--out", "out.parquet"]);
    // Read back as documents whose text is the id.
    scratch.output(&[
        "dedup",
        "out.parquet",
        "--id-field",
        "cluster",
        "--text-field",
        "id",
        "--unique",
        "--drop-columns",
        "--out",
        "back.csv",
    ]);
    let csv = std::fs::read_to_string(scratch.path("back.csv")).unwrap();
    assert_eq!(csv, "cluster,id\n1,one\n1,one again\n2,two\n2,two and more\n");
}

#[cfg(all(feature = "parquet", unix))]
#[test]
fn temporary_files_go_where_the_command_says_and_never_to_a_full_tmp() {
    let scratch = Scratch::new();
    scratch.write("in.jsonl", corpus());
    scratch.output(&["dedup", "in.jsonl", "--unique", "-k", "0", "--out", "in.parquet"]);
    scratch.output(&["fingerprint", "in.jsonl", "--parquet", "prints.parquet"]);
    let pack = |name: &str| {
        let bytes = std::fs::read(scratch.path(name)).unwrap();
        scratch.write(&format!("{name}.zst"), zstd::encode_all(bytes.as_slice(), 1).unwrap());
    };
    ["in.parquet", "prints.parquet"].into_iter().for_each(pack);
    std::fs::create_dir(scratch.path("temporary")).unwrap();
    // A temporary file in the system's directory would fail.
    let run = |args: &[&str]| scratch.hamdex(args).env("TMPDIR", scratch.path("missing")).assert();
    let expected = scratch.output(&["dedup", "in.jsonl", "-k", "8"]);
    let args = ["dedup", "in.parquet.zst", "-k", "8"];
    run(&[&args[..], &["--temp-dir", "temporary"]].concat()).success().stdout(expected);
    run(&args).failure();
    let build = ["build", "-o", "a.hamdex", "--force"];
    for (input, directory) in [
        (&["--documents", "in.parquet.zst"][..], &[][..]),
        (&["--documents", "in.parquet.zst"], &["--temp-dir", "temporary"]),
        (&["prints.parquet.zst"], &[]),
        (&["prints.parquet.zst"], &["--temp-dir", "temporary"]),
    ] {
        run(&[&build[..], input, directory].concat()).success();
        run(&[&build[..], input, &["--temp-dir", "missing"]].concat()).failure();
    }
    run(&["idf", "in.parquet.zst", "-o", "a.idf"]).success();
    run(&["fingerprint", "in.parquet.zst", "--parquet", "out.parquet"]).success();
    assert_eq!(std::fs::read_dir(scratch.path("temporary")).unwrap().count(), 0);
}

#[test]
fn what_is_unique_keeps_its_lines_as_they_are() {
    let scratch = Scratch::new();
    let lines = [
        format!("{{ \"more\": [1, 2], \"text\": \"{}\", \"id\": 7 }}", story(1)),
        format!("{{\"id\":\"x\",\"text\":\"{}\"}}", story(2)),
        format!("{{\"id\":8,\"text\":\"{}\"}}", story(1)),
        "{\"id\":9,\"text\":\"short\"}".to_owned(),
    ];
    scratch.write("in.jsonl", lines.join("\n"));
    let expected = [&lines[0], &lines[1], &lines[3]].map(|line| format!("{line}\n")).concat();
    assert_eq!(scratch.output(&["dedup", "in.jsonl", "--unique"]), expected);
    scratch.output(&["dedup", "in.jsonl", "--unique", "--out", "out.jsonl"]);
    assert_eq!(std::fs::read_to_string(scratch.path("out.jsonl")).unwrap(), expected);
    scratch.output(&[
        "dedup",
        "in.jsonl",
        "--unique",
        "--out",
        "out.csv",
        "--drop-columns",
        "--check",
        "jaccard=0.9",
    ]);
    let csv = std::fs::read_to_string(scratch.path("out.csv")).unwrap();
    assert_eq!(csv, format!("id,text\n7,{}\nx,{}\n9,short\n", story(1), story(2)));

    scratch.write("in.train", format!("a {}\nb {}\n", story(1), story(1)));
    assert_eq!(
        scratch.output(&["dedup", "in.train", "--format", "lines", "--unique"]),
        json_line("a", &story(1))
    );
}
