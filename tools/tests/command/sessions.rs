//! Sessions through pipes: programs in other languages that send a question and wait for its answer before the next.

use std::path::Path;
use std::process::{Command, Output};

use crate::common::{Scratch, altered, json_line, story, with_index};

/// A session that waits for ever is ended.
const TOO_LONG: &str = "120";

/// Runs a script with the command in the variable `HAMDEX`; `None`, and a message, if there is no such interpreter.
fn run(scratch: &Scratch, interpreter: &[&str], script: &str) -> Option<Output> {
    let has_it = Command::new("sh").args(["-c", &format!("command -v {}", interpreter[0])]).output().unwrap();
    if !has_it.status.success() {
        println!("skipped: no {}", interpreter[0]);
        return None;
    }
    scratch.write("script", script);
    let hamdex = assert_cmd::cargo::cargo_bin("hamdex");
    let mut command = Command::new("timeout");
    command.arg(TOO_LONG).args(interpreter).arg("script").env("HAMDEX", hamdex);
    Some(command.current_dir(scratch.path(".")).output().unwrap())
}

fn lines(output: &Output) -> Vec<String> {
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{:?}: {errors}", output.status);
    String::from_utf8(output.stdout.clone()).unwrap().lines().map(str::to_owned).collect()
}

/// Opens two pipes to a command, and asks line by line.
const SHELL: &str = r#"
mkfifo questions answers
$HAMDEX --quiet COMMAND < questions > answers &
exec 3> questions 4< answers
ask() { printf '%s\n' "$1" >&3; IFS= read -r answer <&4; printf '%s\n' "$answer"; }
QUESTIONS
exec 3>&-
wait $!
"#;

fn shell(command: &str, questions: &[&str]) -> String {
    let asked: Vec<String> = questions.iter().map(|question| format!("ask '{question}'")).collect();
    SHELL.replace("COMMAND", command).replace("QUESTIONS", &asked.join("\n"))
}

#[test]
fn a_shell_script_waits_for_the_answer_to_each_query() {
    let scratch = with_index(&["--ids", "row"]);
    let script = shell(
        "query index.hamdex --each --file -",
        &["00000000000001ff", "00ff00ff00ff00ff", "abcdef0123456789", "ffffffff00000000"],
    );
    let Some(output) = run(&scratch, &["sh"], &script) else { return };
    assert_eq!(
        lines(&output),
        [
            "00000000000001ff\t2\t00000000000001ff\t0\t1\t00000000000000ff\t1\t0,4",
            "00ff00ff00ff00ff\t0",
            "abcdef0123456789\t1\tabcdef0123456789\t0\t2",
            "ffffffff00000000\t0",
        ]
    );
}

#[test]
fn a_shell_script_waits_for_the_outcome_of_each_record() {
    let scratch = Scratch::new();
    scratch.output(&["store", "create", "a.store"]);
    let script = shell(
        "store insert a.store --unless-near 3 --each",
        &["00000000000000ff 1", "00000000000000fe 2", "ff000000000000ff 3"],
    );
    let Some(output) = run(&scratch, &["sh"], &script) else { return };
    assert_eq!(
        lines(&output),
        [
            r#"{"fingerprint":"00000000000000ff","id":1,"inserted":true}"#,
            r#"{"fingerprint":"00000000000000fe","id":2,"inserted":false,"near":"00000000000000ff","distance":1,"ids":[1]}"#,
            r#"{"fingerprint":"ff000000000000ff","id":3,"inserted":true}"#,
        ]
    );
    assert_eq!(
        scratch.output(&["query", "a.store", "00000000000000fe", "--each"]).split('\t').nth(1),
        Some("1")
    );
}

/// Asks for documents, each on a line of JSON, and prints the document and how many are near.
const PERL: &str = r#"
use strict; use warnings; use IPC::Open2;
my $pid = open2(my $from, my $to, $ENV{HAMDEX}, '--quiet', QUERY);
select((select($to), $| = 1)[0]);
open(my $in, '<', 'questions.jsonl') or die;
while (my $question = <$in>) {
    print $to $question;
    my $answer = <$from>;
    die "no answer" unless defined $answer;
    print $answer;
}
close $to; waitpid $pid, 0; exit($? >> 8);
"#;

fn documents(scratch: &Scratch) {
    let known: String = (1..4).map(|number| json_line(&format!("known{number}"), &story(number))).collect();
    scratch.write("known.jsonl", known);
    let asked = [json_line("a", &altered(&story(2))), json_line("b", "too short"), json_line("c", &story(9))]
        .concat();
    scratch.write("questions.jsonl", asked);
}

#[test]
fn a_perl_program_waits_for_the_answer_to_each_document() {
    let scratch = Scratch::new();
    documents(&scratch);
    scratch.output(&["build", "-o", "known.hamdex", "--documents", "known.jsonl"]);
    let script = PERL.replace("QUERY", "qw(query known.hamdex --documents=jsonl --each -k 8 --file -)");
    let Some(output) = run(&scratch, &["perl"], &script) else { return };
    let answers = lines(&output);
    assert_eq!(answers.len(), 3, "{answers:?}");
    assert!(answers[0].starts_with("a\t1\t") && answers[0].ends_with("\tknown2"), "{answers:?}");
    assert_eq!(answers[1..], ["b\t-", "c\t0"]);
}

#[test]
fn a_perl_program_waits_for_the_outcome_of_each_document() {
    let scratch = Scratch::new();
    documents(&scratch);
    scratch.output(&["store", "create", "known.store", "--documents"]);
    scratch.output(&["store", "insert", "known.store", "--documents", "known.jsonl"]);
    let script =
        PERL.replace("QUERY", "qw(store insert known.store --documents=jsonl --unless-near 8 --each)");
    let Some(output) = run(&scratch, &["perl"], &script) else { return };
    let answers = crate::common::json_lines(&lines(&output).join("\n"));
    let told: Vec<_> =
        answers.iter().map(|line| (line["name"].as_str().unwrap(), &line["inserted"])).collect();
    assert_eq!(told, [("a", &false.into()), ("b", &false.into()), ("c", &true.into())]);
    assert_eq!(
        (&answers[0]["ids"], &answers[1]["too_short_features"]),
        (&serde_json::json!(["known2"]), &2.into())
    );
}

#[test]
fn a_perl_program_learns_of_each_document_whether_it_is_new_by_its_text() {
    let scratch = Scratch::new();
    documents(&scratch);
    scratch.output(&["store", "create", "known.store", "--documents", "--shingles"]);
    scratch.output(&["store", "insert", "known.store", "--documents", "known.jsonl"]);
    let asked = std::fs::read_to_string(scratch.path("questions.jsonl")).unwrap();
    scratch.write("questions.jsonl", format!("{asked}{}{}", json_line("d", " "), json_line("e", &story(9))));
    let script =
        PERL.replace("QUERY", "qw(store insert known.store --documents=jsonl --unless-similar 0.7 --each)");
    let Some(output) = run(&scratch, &["perl"], &script) else { return };
    assert_eq!(
        lines(&output),
        [
            r#"{"name":"a","inserted":false,"similar":"known2","similarity":0.9745762711864406}"#,
            r#"{"name":"b","inserted":true}"#,
            r#"{"name":"c","inserted":true}"#,
            r#"{"name":"d","inserted":false}"#,
            r#"{"name":"e","inserted":false,"similar":"c","similarity":1.0}"#,
        ]
    );
}

#[test]
fn a_document_that_cannot_be_read_is_answered_too() {
    let scratch = Scratch::new();
    documents(&scratch);
    scratch.output(&["build", "-o", "known.hamdex", "--documents", "--shingles", "known.jsonl"]);
    let asked = [
        json_line("a", &story(2)),
        "{\"id\":\"b\",\"text\":null}\n".to_owned(),
        "{\"id\":\"c\",\n".to_owned(),
        "{\"id\":\"d\"}\n".to_owned(),
        json_line("e", &story(9)),
    ];
    scratch.write("questions.jsonl", asked.concat());
    let answered = |command: &str| {
        let output = run(&scratch, &["perl"], &PERL.replace("QUERY", &format!("qw({command})")))?;
        assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
        Some(lines(&output))
    };
    let errors = [
        "standard input:2: no string in the field \"text\" (--text-field)",
        "standard input:3: not a JSON object: EOF while parsing a value (column 10)",
        "standard input:4: no string in the field \"text\" (--text-field)",
    ];
    for (number, condition) in ["--unless-similar 0.7", "--unless-near 3"].into_iter().enumerate() {
        let store = format!("{number}.store");
        scratch.output(&["store", "create", &store, "--documents", "--shingles"]);
        let command = format!("store insert {store} --documents=jsonl {condition} --each");
        let Some(answers) = answered(&command) else { return };
        let answers = crate::common::json_lines(&answers.join("\n"));
        assert_eq!((&answers[0]["name"], &answers[4]["name"]), (&"a".into(), &"e".into()), "{answers:?}");
        for (answer, error) in answers[1..4].iter().zip(errors) {
            assert_eq!(*answer, serde_json::json!({ "inserted": false, "error": error }), "{command}");
        }
    }
    for measure in ["--similar 0.7", "-k 3"] {
        let command = format!("query known.hamdex --documents=jsonl {measure} --each --file -");
        let Some(answers) = answered(&command) else { return };
        assert!(answers[0].starts_with("a\t1\t") && answers[4] == "e\t0", "{answers:?}");
        assert_eq!(answers[1..4], ["standard input:2\t-", "standard input:3\t-", "standard input:4\t-"]);
        let Some(answers) = answered(&format!("{command} --json")) else { return };
        let answers = crate::common::json_lines(&answers.join("\n"));
        for (answer, error) in answers[1..4].iter().zip(errors) {
            assert_eq!(*answer, serde_json::json!({ "error": error, "matches": [] }), "{command}");
        }
    }
}

/// Asks through a pipe that awk writes, and reads each answer by a shell: some awks read more than a line at a time.
const AWK: &str = r#"
mkfifo questions answers
exec 4<> answers
$HAMDEX --quiet query index.hamdex --each --json --file - < questions > answers &
awk 'BEGIN {
    reader = "IFS= read -r line <&4; printf \"%s\\n\" \"$line\"";
    split("00000000000000ff 0000ffff0000ffff", asked, " ");
    for (place = 1; place <= 2; place++) {
        print asked[place] > "questions"; fflush("questions");
        reader | getline answer; close(reader);
        print answer;
    }
    close("questions");
}'
wait $!
"#;

#[test]
fn an_awk_program_waits_for_the_answer_to_each_query() {
    let scratch = with_index(&[]);
    let Some(output) = run(&scratch, &["sh"], AWK) else { return };
    assert_eq!(
        lines(&output),
        [
            r#"{"query":"00000000000000ff","matches":[{"fingerprint":"00000000000000ff","distance":0},{"fingerprint":"00000000000001ff","distance":1}]}"#,
            r#"{"query":"0000ffff0000ffff","matches":[]}"#,
        ]
    );
}

#[test]
fn features_are_answered_document_by_document() {
    let scratch = Scratch::new();
    let script = SHELL
        .replace("COMMAND", "fingerprint --recipe seomoz --features --json")
        .replace("QUESTIONS", "ask 'abc\t1\n'\nask ''\n")
        .replace("'%s\\n' \"$1\"", "\"$1\\n\"");
    let Some(output) = run(&scratch, &["sh"], &script) else { return };
    assert_eq!(
        lines(&output),
        [
            r#"{"id":"1","fingerprint":"900150983cd24fb0"}"#,
            r#"{"id":"2","fingerprint":null,"too_short_features":0}"#
        ]
    );
}

#[test]
fn a_closed_output_is_an_error_for_a_command_that_has_something_to_print() {
    let scratch = with_index(&[]);
    scratch.write("a.jsonl", [json_line("a", &story(1)), json_line("b", &story(1))].concat());
    scratch.output(&["store", "create", "a.store"]);
    let closed = |args: &str| {
        let script = format!("$HAMDEX {args} >&-");
        let output = run(&scratch, &["sh"], &script).expect("there is a shell");
        (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
    };
    for args in [
        "--help",
        "--version",
        "query --help",
        "query index.hamdex 00000000000000ff",
        "query index.hamdex 00ff00ff00ff00ff --each",
        "pairs index.hamdex",
        "pairs index.hamdex --count",
        "dump index.hamdex",
        "dump index.hamdex --fingerprints",
        "dump a.store --json",
        "verify index.hamdex",
        "store stats a.store",
        "designs --count 1000",
        "demo --count 1000",
        "completions bash",
        "man",
        "distance 0 1",
        "dedup a.jsonl",
        "dedup a.jsonl --json",
        "dedup a.jsonl --print kept",
        "fingerprint a.jsonl",
        "idf a.jsonl -o -",
        "build -o - in.txt",
        "build -o b.hamdex --json in.txt",
    ] {
        let (code, text) = closed(args);
        assert_eq!(code, if args.contains("b.hamdex") { 4 } else { 1 }, "{args}: {text}");
        assert!(text.contains("standard output: it is closed"), "{args}: {text}");
    }
    // Nothing to print, nothing to fail.
    for args in ["query index.hamdex 00ff00ff00ff00ff", "build -o c.hamdex in.txt", "store flush a.store"] {
        let (code, text) = closed(args);
        assert_eq!(code, 0, "{args}: {text}");
    }
    assert!(Path::new(&scratch.path("c.hamdex")).exists());
}
