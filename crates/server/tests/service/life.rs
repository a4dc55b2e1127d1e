//! The life of a set: made, deleted, put into the directory, moved out of it, and what cannot be opened.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::thread;
use std::time::Duration;

use hamdex::BuildOptions;
use hamdex_server::Options;
use hamdex_shards::{Layout, ShardsBuilder};
use hamdex_store::{CreateOptions, Store, StoreOptions, When};
use serde_json::{Value, json};

use crate::common::{Answer, Client, Running, build, hex, options};
use crate::protection::secret;

/// Asks again until the answer is the one that is waited for.
fn until(ask: impl Fn() -> Answer, is_it: impl Fn(&Answer) -> bool) -> Answer {
    loop {
        let answer = ask();
        if is_it(&answer) {
            return answer;
        }
        thread::sleep(Duration::from_millis(20));
    }
}

fn insert(client: &Client, set: &str, fingerprint: u64) -> Answer {
    client.post(
        &format!("/v1/sets/{set}/insert"),
        &json!({ "records": [{ "fingerprint": hex(fingerprint), "id": 1 }] }),
    )
}

fn names(client: &Client) -> Vec<String> {
    let sets = client.get("/v1/sets").ok();
    let name = |set: &Value| set["name"].as_str().unwrap().to_owned();
    sets["sets"].as_array().unwrap().iter().map(name).collect()
}

#[test]
fn what_put_has_made_is_deleted_and_nothing_else() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    fs::create_dir(&data).unwrap();
    build(&data.join("file"), &[1]);
    drop(Store::<u64>::create(data.join("brought"), &CreateOptions::new(), StoreOptions::new()).unwrap());
    let elsewhere = directory.path().join("elsewhere");
    let start = || {
        Running::start(Options {
            data: Some(data.clone()),
            token_file: Some(secret(directory.path(), "full", "full")),
            read_token_file: Some(secret(directory.path(), "read", "read")),
            ..options()
        })
    };
    let running = start();
    let (client, reader) = (running.client().token("full"), running.client().token("read"));
    for name in ["a", "b", "strange", "moved"] {
        client.put(&format!("/v1/sets/{name}"), &json!({})).ok();
        insert(&client, name, 7).ok();
    }
    let delete = |client: &Client, name: &str| client.send("DELETE", &format!("/v1/sets/{name}"), &[], b"");
    assert_eq!(delete(&reader, "a").problem(), (403, "forbidden".to_owned()));
    assert_eq!(delete(&client, "none").problem(), (404, "no_set".to_owned()));
    for name in ["file", "brought"] {
        assert_eq!(delete(&client, name).problem(), (409, "not_made_here".to_owned()), "{name}");
    }
    fs::write(data.join("strange/segments/2020-notes.txt"), "mine").unwrap();
    let refused = delete(&client, "strange");
    assert_eq!(refused.problem(), (409, "not_made_here".to_owned()));
    assert!(refused.json()["detail"].as_str().unwrap().contains("2020-notes.txt"));
    // Another store in the place of one that was made here.
    running.end();
    fs::rename(data.join("moved"), &elsewhere).unwrap();
    drop(Store::<u64>::create(data.join("moved"), &CreateOptions::new(), StoreOptions::new()).unwrap());
    // A link to one.
    fs::rename(data.join("b"), directory.path().join("b")).unwrap();
    std::os::unix::fs::symlink(directory.path().join("b"), data.join("b")).unwrap();
    // One whose deletion was not completed.
    fs::create_dir_all(data.join(".deleted-x/segments")).unwrap();

    let running = start();
    let client = running.client().token("full");
    assert!(!data.join(".deleted-x").exists());
    for name in ["moved", "b"] {
        assert_eq!(delete(&client, name).problem(), (409, "not_made_here".to_owned()), "{name}");
    }
    assert_eq!(insert(&client, "b", 8).ok()["inserted"], 1);
    assert!(String::from_utf8(client.get("/metrics").body).unwrap().contains("hamdex_set_up{set=\"a\"} 1"));
    // A repair keeps damaged files aside, and its report.
    fs::create_dir(data.join("a/damaged")).unwrap();
    fs::write(data.join("a/damaged/notes.txt"), "mine").unwrap();
    assert_eq!(delete(&client, "a").problem(), (409, "not_made_here".to_owned()));
    fs::rename(data.join("a/damaged/notes.txt"), data.join("a/damaged/segments-000001.hamdex.2")).unwrap();
    fs::write(data.join("a/repair.report"), "").unwrap();
    let answer = delete(&client, "a");
    assert_eq!((answer.status, answer.body.len()), (204, 0));
    assert!(!data.join("a").exists() && !data.join(".deleted-a").exists());
    assert_eq!(client.get("/v1/sets/a").problem(), (404, "no_set".to_owned()));
    assert_eq!(names(&client), ["b", "brought", "file", "moved", "strange"]);
    let metrics = String::from_utf8(client.get("/metrics").body).unwrap();
    let has_figure = |name: &str| metrics.contains(&format!("hamdex_set_up{{set=\"{name}\"}} 1"));
    assert!(has_figure("b") && !has_figure("a"), "{metrics}");
    // Anew, and empty.
    client.put("/v1/sets/a", &json!({ "distance": 4 })).ok();
    assert_eq!(client.get("/v1/sets/a/entries").rows().len(), 0);
    assert_eq!(delete(&client, "a").status, 204);
}

#[test]
fn sets_that_appear_and_disappear_are_seen() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    fs::create_dir(&data).unwrap();
    let path = |name: &str| directory.path().join(name);
    let running = Running::of(&data);
    let client = running.client();
    client.put("/v1/sets/s", &json!({})).ok();
    insert(&client, "s", 1).ok();
    // A file, and a store.
    build(&path("f"), &[1, 2]);
    fs::rename(path("f"), data.join("f")).unwrap();
    let store = Store::<u64>::create(path("t"), &CreateOptions::new(), StoreOptions::new()).unwrap();
    store.insert(5, 5).unwrap();
    drop(store);
    fs::rename(path("t"), data.join("t")).unwrap();
    fs::write(data.join("notes.txt"), "no set").unwrap();
    for name in ["f", "t"] {
        until(|| client.get(&format!("/v1/sets/{name}")), |answer| answer.status == 200);
    }
    assert_eq!(insert(&client, "t", 6).ok()["inserted"], 1);
    assert_eq!(names(&client), ["f", "s", "t"]);
    // Nothing is acknowledged for a store that is gone.
    fs::rename(data.join("s"), path("s")).unwrap();
    assert_eq!(insert(&client, "s", 2).problem(), (410, "gone".to_owned()));
    assert_eq!(client.get("/v1/sets/s").problem(), (410, "gone".to_owned()));
    fs::remove_file(data.join("f")).unwrap();
    until(|| client.get("/v1/sets/f"), |answer| answer.status == 410);
    until(|| client.get("/v1/sets"), |_| names(&client) == ["t"]);
    assert_eq!(client.get("/v1/sets/s").problem(), (410, "gone".to_owned()));
    // It may be made anew.
    client.put("/v1/sets/s", &json!({})).ok();
    assert_eq!(client.get("/v1/sets/s/entries").rows().len(), 0);
    insert(&client, "s", 9).ok();
    // What is no set in the place of one: an empty directory, and one with something else.
    client.put("/v1/sets/u", &json!({})).ok();
    insert(&client, "t", 7).ok();
    for name in ["t", "u"] {
        fs::rename(data.join(name), path(name)).unwrap();
        fs::create_dir(data.join(name)).unwrap();
    }
    fs::write(data.join("u/notes.txt"), "no set").unwrap();
    assert_eq!(insert(&client, "t", 8).problem(), (410, "gone".to_owned()));
    until(|| client.get("/v1/sets"), |_| names(&client) == ["s"]);
    for name in ["t", "u"] {
        let gone = client.get(&format!("/v1/sets/{name}"));
        assert_eq!(gone.problem(), (410, "gone".to_owned()), "{name}");
        assert_eq!(gone.json()["detail"].as_str().unwrap().contains("PUT"), name == "t", "{gone:?}");
    }
    // An empty directory gives way, and nothing else.
    assert_eq!(client.put("/v1/sets/u", &json!({})).problem(), (409, "exists".to_owned()));
    assert_eq!(fs::read(data.join("u/notes.txt")).unwrap(), b"no set");
    client.put("/v1/sets/t", &json!({})).ok();
    insert(&client, "t", 3).ok();
    running.end();
    assert_eq!(
        Store::<u64>::open(data.join("t"), StoreOptions::new()).unwrap().snapshot().count().unwrap().pairs,
        1
    );
    assert_eq!(
        Store::<u64>::open(path("t"), StoreOptions::new()).unwrap().snapshot().count().unwrap().pairs,
        3
    );
    // Neither store has what belongs to the other.
    for (path, expected) in [(path("s"), 1), (data.join("s"), 9)] {
        let store = Store::<u64>::open(path, StoreOptions::new()).unwrap();
        let stored: Vec<u64> = store.snapshot().pairs_in_order().map(|pair| pair.unwrap().0).collect();
        assert_eq!(stored, [expected]);
    }
}

/// Whether files can be made unreadable: not for the superuser.
fn modes_count(directory: &Path) -> bool {
    let path = directory.join(".mode");
    fs::write(&path, "x").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o0)).unwrap();
    fs::read(&path).is_err()
}

#[test]
fn one_bad_set_does_not_keep_others_from_being_served() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    fs::create_dir(&data).unwrap();
    build(&data.join("whole"), &[1]);
    let holder = Store::<u64>::create(data.join("used"), &CreateOptions::new(), StoreOptions::new()).unwrap();
    holder.insert(3, 3).unwrap();
    std::os::unix::fs::symlink(directory.path().join("nowhere"), data.join("link")).unwrap();
    fs::create_dir(data.join("lost+found")).unwrap();
    fs::set_permissions(data.join("lost+found"), fs::Permissions::from_mode(0o0)).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(data.join("socket")).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(data.join("pipe")).status().unwrap().success());
    let latin: &std::ffi::OsStr = std::os::unix::ffi::OsStrExt::from_bytes(b"caf\xe9");
    fs::write(data.join(latin), "x").unwrap();
    fs::create_dir(data.join("folder")).unwrap();
    let has_modes = modes_count(directory.path());
    if has_modes {
        build(&data.join("unreadable"), &[1]);
        fs::set_permissions(data.join("unreadable"), fs::Permissions::from_mode(0o0)).unwrap();
    }
    let running = Running::of(&data);
    let client = running.client();
    let mut expected = vec!["link", "unreadable", "used", "whole"];
    if !has_modes {
        expected.remove(1);
    }
    assert_eq!(names(&client), expected);
    let problem = |name: &str| client.get(&format!("/v1/sets/{name}/entries"));
    assert_eq!(problem("link").problem(), (500, "system".to_owned()));
    let used = problem("used");
    assert_eq!(used.problem(), (503, "unavailable".to_owned()));
    let detail = used.json()["detail"].as_str().unwrap().to_owned();
    assert!(detail.contains("in use by process") && detail.contains("--read-only"), "{detail}");
    assert_eq!(client.get("/v1/sets/whole/entries").rows().len(), 1);

    // For reading, beside its writer.
    let options = Options { data: Some(data.clone()), read_only: true, ..options() };
    let reading = Running::start(options);
    let reader = reading.client();
    assert_eq!(reader.get("/v1/sets/used/entries").rows().len(), 1);
    holder.insert(4, 4).unwrap();
    assert_eq!(reader.get("/v1/sets/used/entries").rows().len(), 2);
    let described = reader.get("/v1/sets/used").ok();
    assert_eq!((&described["writable"], &described["kind"]), (&json!(false), &json!("store")));
    assert_eq!(insert(&reader, "used", 5).problem(), (409, "read_only".to_owned()));
    assert_eq!(reader.put("/v1/sets/new", &json!({})).problem(), (409, "read_only".to_owned()));
    assert_eq!(reader.ended(&reader.post("/v1/sets/used/verify", &json!({})).ok())["state"], "done");
    reading.end();
    // Once its writer has ended, it is opened.
    drop(holder);
    until(|| client.get("/v1/sets/used"), |answer| answer.status == 200);
    assert_eq!(insert(&client, "used", 5).ok()["inserted"], 1);
    fs::remove_file(data.join("link")).unwrap();
    build(&data.join("link"), &[1, 2, 3]);
    assert_eq!(until(|| client.get("/v1/sets/link/entries"), |answer| answer.status == 200).rows().len(), 3);
}

/// Makes a set of shards, and moves one of its files away; returns what moves it back.
fn shards_without_one(path: &Path) -> impl FnOnce() + use<> {
    let mut builder = ShardsBuilder::<u64>::create(path, Layout::Families, 4, BuildOptions::new()).unwrap();
    (0..400).for_each(|number| builder.push(number << 32 | number).unwrap());
    drop(builder.finish().unwrap());
    let shards = fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path());
    let shard = shards.filter(|path| path.extension().is_some_and(|extension| extension == "hamdex")).min();
    let (shard, away) = (shard.unwrap(), path.with_extension("away"));
    fs::rename(&shard, &away).unwrap();
    move || fs::rename(away, shard).unwrap()
}

#[test]
fn a_set_of_files_one_of_which_is_put_back_is_opened() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    fs::create_dir(&data).unwrap();
    let path = |name: &str| directory.path().join(name);
    build(&path("whole"), &[1]);
    fs::create_dir(path("broken")).unwrap();
    let complete = [shards_without_one(&path("broken/named")), shards_without_one(&path("broken/found"))];
    fs::rename(path("broken/found"), data.join("found")).unwrap();
    std::os::unix::fs::symlink(path("whole"), data.join("replaced")).unwrap();
    let sets = vec![path("whole"), path("broken/named")];
    let running = Running::start(Options { sets, data: Some(data.clone()), ..options() });
    let client = running.client();
    let entries = |name: &str| client.get(&format!("/v1/sets/{name}/entries"));
    for name in ["named", "found"] {
        assert_eq!(entries(name).problem(), (500, "damaged".to_owned()));
    }
    fs::rename(data.join("found"), path("broken/found")).unwrap();
    complete.into_iter().for_each(|complete| complete());
    fs::rename(path("broken/found"), data.join("found")).unwrap();
    for name in ["named", "found"] {
        assert_eq!(until(|| entries(name), |answer| answer.status == 200).rows().len(), 400, "{name}");
    }
    // One that takes the place of another, which is served until then.
    let complete = shards_without_one(&path("broken/new"));
    std::os::unix::fs::symlink(path("broken/new"), path("link")).unwrap();
    fs::rename(path("link"), data.join("replaced")).unwrap();
    assert_eq!(entries("replaced").rows().len(), 1);
    complete();
    until(|| entries("replaced"), |answer| answer.rows().len() == 400);
}

#[test]
fn a_store_that_is_named_is_opened_again_when_another_lies_in_its_place() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    let make = |name: &str, fingerprint: u64| {
        let store = Store::<u64>::create(path(name), &CreateOptions::new(), StoreOptions::new()).unwrap();
        store.insert(fingerprint, 1).unwrap();
        store.close().unwrap();
    };
    make("x.store", 1);
    make("other.store", 2);
    let sets = vec![path("x.store")];
    let running = Running::start(Options { sets, data: None, ..options() });
    let client = running.client();
    insert(&client, "x.store", 3).ok();
    fs::rename(path("x.store"), path("y.store")).unwrap();
    let gone = insert(&client, "x.store", 4);
    assert_eq!(gone.problem(), (410, "gone".to_owned()));
    // There is no directory in which PUT could make one.
    assert!(!gone.json()["detail"].as_str().unwrap().contains("PUT"), "{gone:?}");
    assert_eq!(client.put("/v1/sets/x.store", &json!({})).problem().1, "no_data_directory");
    fs::rename(path("other.store"), path("x.store")).unwrap();
    until(|| insert(&client, "x.store", 5), |answer| answer.status == 200);
    let rows = |name: &str| client.get(&format!("/v1/sets/{name}/entries")).rows();
    let of = |fingerprints: &[u64]| -> Vec<Value> {
        fingerprints.iter().map(|f| json!({ "fingerprint": hex(*f), "ids": [1] })).collect()
    };
    assert_eq!(rows("x.store"), of(&[2, 5]));
    running.end();
    let stored = |name: &str| -> Vec<u64> {
        let store = Store::<u64>::open(path(name), StoreOptions::new()).unwrap();
        store.snapshot().pairs_in_order().map(|pair| pair.unwrap().0).collect()
    };
    assert_eq!((stored("x.store"), stored("y.store")), (vec![2, 5], vec![1, 3]));
}

#[test]
fn a_store_whose_lock_was_removed_is_lost_until_it_is_opened_again() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    let running = Running::of(directory.path());
    let client = running.client();
    client.put("/v1/sets/s", &json!({})).ok();
    insert(&client, "s", 1).ok();
    fs::remove_file(path("s/lock")).unwrap();
    // Another process may write to it now, and is not disturbed.
    let other = Store::<u64>::open(path("s"), StoreOptions::new()).unwrap();
    let refused = insert(&client, "s", 2);
    let (status, code) = refused.problem();
    assert!(status == 503 && (code == "lost" || code == "unavailable"), "{refused:?}");
    other.insert(3, 1).unwrap();
    let in_use = until(|| insert(&client, "s", 4), |answer| answer.problem().1 == "unavailable");
    assert!(in_use.json()["detail"].as_str().unwrap().contains("in use by process"), "{in_use:?}");
    other.close().unwrap();
    until(|| insert(&client, "s", 5), |answer| answer.status == 200);
    let rows = client.get("/v1/sets/s/entries").rows();
    let stored: Vec<&str> = rows.iter().map(|row| row["fingerprint"].as_str().unwrap()).collect();
    assert_eq!(stored, [hex(1_u64), hex(3_u64), hex(5_u64)]);
}

#[test]
fn the_records_of_an_id_are_found() {
    let directory = tempfile::tempdir().unwrap();
    let running = Running::of(directory.path());
    let client = running.client();
    client.put("/v1/sets/numbers", &json!({ "lookups": true })).ok();
    client.put("/v1/sets/plain", &json!({})).ok();
    client.put("/v1/sets/names", &json!({ "lookups": true, "ids": "names", "width": 128 })).ok();
    let big = "18446744073709551615";
    let records = json!([
        { "fingerprint": hex(9_u64), "id": 7 },
        { "fingerprint": hex(3_u64), "id": 7 },
        { "fingerprint": hex(3_u64), "id": big },
    ]);
    client.post("/v1/sets/numbers/insert", &json!({ "records": records })).ok();
    let records = json!([{ "fingerprint": hex(5_u128), "id": "http://a/?b=c d" }]);
    client.post("/v1/sets/names/insert", &json!({ "records": records })).ok();
    for _ in 0..2 {
        let of = |set: &str, id: &str| client.get(&format!("/v1/sets/{set}/records/{id}"));
        assert_eq!(of("numbers", "7").ok(), json!({ "id": 7, "fingerprints": [hex(3_u64), hex(9_u64)] }));
        assert_eq!(of("numbers", big).ok(), json!({ "id": big, "fingerprints": [hex(3_u64)] }));
        assert_eq!(of("numbers", "8").problem(), (404, "no_record".to_owned()));
        assert_eq!(of("numbers", "x").problem(), (422, "ids".to_owned()));
        assert_eq!(of("plain", "7").problem(), (422, "no_lookups".to_owned()));
        let found = of("names", "http%3A%2F%2Fa%2F%3Fb=c%20d").ok();
        assert_eq!(found, json!({ "id": "http://a/?b=c d", "fingerprints": [hex(5_u128)] }));
        assert_eq!(of("names", "http%3A%2F%2Fa").problem(), (404, "no_record".to_owned()));
        // In memory, and in a file.
        for set in ["numbers", "names"] {
            client.post(&format!("/v1/sets/{set}/flush"), &json!({})).ok();
        }
    }
}

#[test]
fn names_that_are_no_utf8_are_removed_as_they_are_shown() {
    let directory = tempfile::tempdir().unwrap();
    let options = CreateOptions::new().names(true).lookups(true);
    let store = Store::<u64>::create(directory.path().join("s"), &options, StoreOptions::new()).unwrap();
    let named: Vec<(u64, &[u8])> =
        vec![(1, b"caf\xe9"), (2, b"caf\xe9"), (3, b"cafe"), (4, b"\xff"), (5, b"caf\\xe9")];
    store.put(&named, When::always()).unwrap();
    drop(store);
    let running = Running::of(directory.path());
    let client = running.client();
    let ids = |fingerprint: u64| {
        let query = json!({ "fingerprints": [hex(fingerprint)], "distance": 0 });
        client.post("/v1/sets/s/query", &query).ok()["results"][0][0]["ids"][0].clone()
    };
    let shown = ids(1);
    assert_eq!(shown, json!("caf\\xe9"));
    let found = client.get("/v1/sets/s/records/caf%5Cxe9").ok();
    assert_eq!(found["fingerprints"], json!([hex(1_u64), hex(2_u64), hex(5_u64)]));
    let remove = |body: Value| client.post("/v1/sets/s/remove", &body).ok()["removed"].clone();
    assert_eq!(remove(json!({ "records": [{ "fingerprint": hex(1_u64), "id": shown }] })), 1);
    // The name that is this text goes first, then the one that is shown as it.
    for left in [3, 2] {
        assert_eq!(remove(json!({ "ids": [shown] })), 1);
        assert_eq!(client.get("/v1/sets/s/entries").rows().len(), left);
    }
    assert_eq!(remove(json!({ "ids": [ids(4)] })), 1);
    assert_eq!(client.get("/v1/sets/s/entries").rows().len(), 1);
}

#[test]
fn a_set_answers_at_the_distance_that_it_is_made_for() {
    let directory = tempfile::tempdir().unwrap();
    let running = Running::of(directory.path());
    let client = running.client();
    client.put("/v1/sets/s", &json!({ "distance": 12 })).ok();
    insert(&client, "s", 0).ok();
    let ask = |body: Value| client.post("/v1/sets/s/query", &body);
    let found = ask(json!({ "fingerprints": [hex(0xfff_u64)] })).ok();
    assert_eq!(found["results"][0][0]["distance"], 12);
    let record = json!([{ "fingerprint": hex(0xfff_u64), "id": 2 }]);
    let near = client.post("/v1/sets/s/insert", &json!({ "records": record, "unless_near": 12 })).ok();
    assert_eq!(near["inserted"], 0);
    assert_eq!(client.get("/v1/sets/s/pairs").status, 200);
    let beyond = ask(json!({ "fingerprints": [hex(0_u64)], "distance": 13 }));
    assert_eq!(beyond.problem(), (422, "distance_too_great".to_owned()));
}

#[test]
fn the_width_bounds_distances_that_the_service_allows() {
    let directory = tempfile::tempdir().unwrap();
    let data = Some(directory.path().to_owned());
    let running = Running::start(Options { data, max_distance: Some(128), ..options() });
    let client = running.client();
    client.put("/v1/sets/s", &json!({})).ok();
    insert(&client, "s", 0).ok();
    let farthest = json!([hex(u64::MAX)]);
    let ask = |asked: Value| client.post("/v1/sets/s/query", &asked);
    for asked in [
        json!({ "nearest": 1, "fingerprints": farthest }),
        json!({ "distance": 64, "fingerprints": farthest }),
    ] {
        assert_eq!(ask(asked).ok()["results"][0][0]["distance"], 64);
    }
    let record = json!([{ "fingerprint": hex(1_u64), "id": 2 }]);
    let insert_unless = |near: u32| json!({ "records": record, "unless_near": near });
    for beyond in [
        ask(json!({ "distance": 65, "fingerprints": [] })),
        client.post("/v1/sets/s/insert", &insert_unless(65)),
        client.get("/v1/sets/s/pairs?distance=65"),
    ] {
        assert_eq!(beyond.problem(), (422, "distance_too_great".to_owned()));
    }
    assert_eq!(client.post("/v1/sets/s/insert", &insert_unless(64)).ok()["inserted"], 0);
}
