//! The page, in Chromium by its driver; left out where there is none.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use hamdex_server::Options;
use serde_json::{Value, json};

use crate::common::{Chance, Client, Running, build, hex, options};

/// Where screenshots go, if this variable names a directory.
const SCREENSHOTS: &str = "HAMDEX_SCREENSHOTS";

/// The longest time that the page may take for something.
const PATIENCE: Duration = Duration::from_secs(60);

/// A browser with one page.
struct Browser {
    driver: Child,
    client: Client,
    session: String,
    _profile: tempfile::TempDir,
}

impl Browser {
    /// Starts a browser; `None` if this machine has none.
    fn start() -> Option<Self> {
        let mut driver = Command::new("chromedriver")
            .arg("--port=0")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .ok()?;
        let mut lines = BufReader::new(driver.stdout.take().unwrap()).lines();
        let port = lines.find_map(|line| {
            let line = line.ok()?;
            let (_, port) = line.split_once("successfully on port ")?;
            port.trim_end_matches('.').parse::<u16>().ok()
        })?;
        // The driver does not wait for a reader.
        thread::spawn(move || lines.for_each(drop));
        let profile = tempfile::tempdir().unwrap();
        let arguments = [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--window-size=1200,1600",
            &format!("--user-data-dir={}", profile.path().display()),
        ];
        let wanted =
            json!({ "capabilities": { "alwaysMatch": { "goog:chromeOptions": { "args": arguments } } } });
        let client = Client::new(&format!("http://127.0.0.1:{port}"));
        let started = client.post("/session", &wanted);
        if started.status != 200 {
            eprintln!("the browser does not start: {}", started.json());
            drop((driver.kill(), driver.wait()));
            return None;
        }
        let session = started.json()["value"]["sessionId"].as_str().unwrap().to_owned();
        Some(Self { driver, client, session, _profile: profile })
    }

    fn post(&self, command: &str, body: &Value) -> Value {
        self.client.post(&format!("/session/{}/{command}", self.session), body).ok()["value"].clone()
    }

    fn open(&self, url: &str) {
        self.post("url", &json!({ "url": url }));
    }

    /// Runs a script in the page.
    fn run(&self, script: &str) -> Value {
        self.post("execute/sync", &json!({ "script": script, "args": [] }))
    }

    /// Waits until an expression is true.
    fn wait(&self, expression: &str) {
        let started = Instant::now();
        while self.run(&format!("return !!({expression})")) != true {
            assert!(
                started.elapsed() < PATIENCE,
                "{expression}: {}",
                self.run("return document.body.innerText")
            );
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Presses keys, one after the other.
    fn press(&self, keys: &str) {
        let actions: Vec<Value> = keys
            .chars()
            .flat_map(|key| {
                [json!({ "type": "keyDown", "value": key }), json!({ "type": "keyUp", "value": key })]
            })
            .collect();
        self.post("actions", &json!({ "actions": [{ "type": "key", "id": "keys", "actions": actions }] }));
    }

    /// Moves the focus by the keyboard alone until it is on an element.
    fn tab_to(&self, id: &str) {
        for _ in 0..60 {
            if self.run("return document.activeElement.id") == id {
                return;
            }
            self.press("\u{e004}");
        }
        panic!("the keyboard does not reach {id}");
    }

    fn is_dark(&self, is_dark: bool) {
        let scheme = if is_dark { "dark" } else { "light" };
        let media = json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] });
        self.post("goog/cdp/execute", &json!({ "cmd": "Emulation.setEmulatedMedia", "params": media }));
    }

    fn screenshot(&self, name: &str) {
        let Some(directory) = std::env::var_os(SCREENSHOTS) else { return };
        let parameters = json!({ "captureBeyondViewport": true });
        let shot =
            self.post("goog/cdp/execute", &json!({ "cmd": "Page.captureScreenshot", "params": parameters }));
        let path = Path::new(&directory).join(name);
        std::fs::write(path, from_base64(shot["data"].as_str().unwrap())).unwrap();
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        drop(self.client.try_send("DELETE", &format!("/session/{}", self.session), &[], b""));
        drop((self.driver.kill(), self.driver.wait()));
    }
}

fn from_base64(text: &str) -> Vec<u8> {
    let value = |byte: u8| match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' => 62,
        _ => 63,
    };
    let digits: Vec<u8> = text.bytes().filter(|byte| *byte != b'=').map(value).collect();
    let bytes_of = |four: &[u8]| {
        let number =
            four.iter().fold(0u32, |number, digit| number << 6 | u32::from(*digit)) << (6 * (4 - four.len()));
        number.to_be_bytes()[1..four.len()].to_vec()
    };
    digits.chunks(4).flat_map(bytes_of).collect()
}

/// The least contrast of a text with its ground, as WCAG 2 defines it, over all elements that have text.
const LEAST_CONTRAST: &str = r"
const parse = color => color.match(/[\d.]+/g).map(Number);
const light = color => { const [r, g, b] = parse(color).map(v => v / 255).map(v => v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4); return .2126 * r + .7152 * g + .0722 * b; };
const ground = element => { for (; element; element = element.parentElement) { const color = getComputedStyle(element).backgroundColor, parts = parse(color); if (parts.length < 4 || parts[3] > 0) return color; } return 'rgb(255, 255, 255)'; };
let least = [99, ''];
for (const element of document.querySelectorAll('body *')) {
  if (!element.offsetParent || ![...element.childNodes].some(node => node.nodeType === 3 && node.data.trim())) continue;
  const [one, two] = [light(getComputedStyle(element).color), light(ground(element))];
  const contrast = (Math.max(one, two) + .05) / (Math.min(one, two) + .05);
  if (contrast < least[0]) least = [contrast, element.outerHTML.slice(0, 200)];
}
return least;";

#[test]
fn the_page_shows_sets_differing_bits_and_blocks_by_the_keyboard_alone() {
    let Some(browser) = Browser::start() else {
        eprintln!("no Chromium with its driver: the page is not tested");
        return;
    };
    let directory = tempfile::tempdir().unwrap();
    let mut chance = Chance(1);
    let mut fingerprints: Vec<u64> = (0..5000).map(|_| chance.clustered(40)).collect();
    fingerprints.push(0x0123_4567_89ab_cdef);
    build(&directory.path().join("news.hamdex"), &fingerprints);
    let running = Running::of(directory.path());
    let client = running.client();
    client.put("/v1/sets/pages", &json!({})).ok();
    client.put("/v1/sets/texts", &json!({ "recipe": "default" })).ok();
    browser.open(&running.url);
    browser.wait("document.getElementById('sets').rows.length === 3");
    browser.wait("!document.getElementById('look').hidden");
    assert_eq!(browser.run("return document.getElementById('figures-title').textContent"), "news.hamdex");
    // Nothing is loaded from elsewhere.
    let loaded = browser.run("return performance.getEntriesByType('resource').map(entry => entry.name)");
    let is_own = |name: &Value| {
        name.as_str().unwrap().starts_with(&running.url) || name.as_str().unwrap().starts_with("data:")
    };
    assert!(loaded.as_array().unwrap().iter().all(is_own), "{loaded}");

    // A query, whose results show the bit that differs.
    browser.tab_to("asked");
    browser.press("0123456789abcdee\u{e004}\u{e004}\u{e004}\u{e004}\u{e007}");
    browser.wait("document.querySelector('#results td.digits')");
    let found = browser
        .run("return [...document.querySelectorAll('#results td.digits')].map(cell => cell.textContent)");
    assert!(found.as_array().unwrap().contains(&json!("0123456789abcdef")), "{found}");
    let marked = browser.run("return [...document.querySelectorAll('#results tr')].find(row => row.innerText.includes('0123456789abcdef')).querySelectorAll('b').length");
    assert_eq!(marked, 1);
    assert!(
        browser
            .run("return document.getElementById('results').innerText")
            .as_str()
            .unwrap()
            .contains("differs in bit 63")
    );

    // A look inside another table and block.
    browser.tab_to("block");
    browser.press("\u{e009}a\u{e009}\u{e000}\u{e003}3\u{e007}");
    browser.wait("document.getElementById('block-title').textContent.startsWith('Block 3, ')");
    let bits = browser.run("return document.querySelectorAll('#fields span').length");
    assert!(bits.as_u64().unwrap() > 10);
    assert_eq!(browser.run("return document.querySelectorAll('#histogram rect').length"), 64);

    for is_dark in [false, true] {
        browser.is_dark(is_dark);
        browser.run("for (const details of document.querySelectorAll('details')) details.open = true");
        let least = browser.run(LEAST_CONTRAST);
        assert!(least[0].as_f64().unwrap() >= 4.5, "dark: {is_dark}: {least}");
        browser.run("for (const details of document.querySelectorAll('details')) details.open = false");
        browser.screenshot(if is_dark { "dark.png" } else { "light.png" });
    }
    browser.is_dark(false);

    // Figures change while they are shown, and the focus stays.
    browser.run("[...document.querySelectorAll('#sets button')].find(button => button.textContent === 'pages').focus()");
    browser.press("\u{e007}");
    browser.wait("document.getElementById('figures-title').textContent === 'pages'");
    browser.wait("document.getElementById('inside-problem').textContent.includes('no files yet')");
    let records: Vec<Value> = (0..7u64).map(|id| json!({ "fingerprint": hex(id << 20), "id": id })).collect();
    client.post("/v1/sets/pages/insert", &json!({ "records": records })).ok();
    browser.wait("document.getElementById('figures').innerText.includes('at most 7')");
    assert_eq!(browser.run("return document.activeElement.textContent"), "pages");

    // Names are text, whatever they look like.
    let text = "it was a dark and stormy night and the rain fell in torrents except at occasional intervals";
    let record = json!({ "text": text, "id": "<img src=x onerror=alert(1)>" });
    client.post("/v1/sets/texts/insert", &json!({ "records": [record] })).ok();
    browser.run("[...document.querySelectorAll('#sets button')].find(button => button.textContent === 'texts').focus()");
    browser.press("\u{e007}");
    browser.wait("document.getElementById('as').value === 'text' && document.getElementById('figures-title').textContent === 'texts'");
    browser.tab_to("asked");
    browser.run("document.getElementById('asked').value = ''");
    browser.press(&format!("{text}\u{e004}\u{e004}\u{e004}\u{e004}\u{e007}"));
    browser.wait("document.getElementById('results').innerText.includes('<img src=x')");
    assert_eq!(browser.run("return document.images.length"), 0);
    browser.screenshot("text.png");

    // A set with shingles is asked by words, for documents that resemble them or contain them.
    client.put("/v1/sets/kept", &json!({ "recipe": "default", "shingles": true })).ok();
    let record = json!({ "text": text, "id": "<b>storm</b>" });
    client.post("/v1/sets/kept/insert", &json!({ "records": [record] })).ok();
    browser.wait("document.getElementById('sets').rows.length === 4");
    browser.run("[...document.querySelectorAll('#sets button')].find(button => button.textContent === 'kept').focus()");
    browser.press("\u{e007}");
    browser.wait("document.getElementById('as').value === 'similar' && document.getElementById('figures-title').textContent === 'kept'");
    assert_eq!(browser.run("return document.getElementById('distance').parentElement.hidden"), true);
    let found = |asked: &str, measure: &str| {
        browser.run("document.getElementById('results').replaceChildren()");
        browser.run(&format!("document.getElementById('measure').value = '{measure}'"));
        browser.tab_to("asked");
        browser.run("document.getElementById('asked').value = ''");
        browser.press(&format!("{asked}\u{e004}\u{e004}\u{e004}\u{e004}\u{e004}\u{e007}"));
        browser.wait("document.querySelector('#results h3')?.textContent.includes('match')");
        let cells =
            browser.run("return [...document.querySelectorAll('#results td')].map(cell => cell.textContent)");
        cells.as_array().unwrap().clone()
    };
    assert_eq!(found(&format!("{text}!"), "similar"), [json!("<b>storm</b>"), json!("1.000")]);
    browser.screenshot("similar.png");
    let quoted = "a dark and stormy night and the rain";
    assert_eq!(found(quoted, "similar"), [] as [Value; 0]);
    assert_eq!(found(quoted, "containing"), [json!("<b>storm</b>"), json!("1.000")]);
    browser.run(
        "const as = document.getElementById('as'); as.value = 'hex'; as.dispatchEvent(new Event('change'))",
    );
    assert_eq!(browser.run("return document.getElementById('distance').parentElement.hidden"), false);
    assert_eq!(browser.run("return document.getElementById('share').parentElement.hidden"), true);
}

#[cfg(unix)]
#[test]
fn the_page_asks_for_a_token() {
    use std::os::unix::fs::PermissionsExt;
    let Some(browser) = Browser::start() else { return };
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    std::fs::create_dir(&data).unwrap();
    build(&data.join("a"), &[1, 2, 3]);
    let token_file = directory.path().join("token");
    std::fs::write(&token_file, "open-sesame").unwrap();
    std::fs::set_permissions(&token_file, std::fs::Permissions::from_mode(0o600)).unwrap();
    let running = Running::start(Options { data: Some(data), token_file: Some(token_file), ..options() });
    browser.open(&running.url);
    browser.wait("!document.getElementById('login').hidden");
    assert_eq!(browser.run("return document.activeElement.id"), "token");
    browser.press("wrong\u{e007}");
    browser.wait("document.getElementById('login-problem').textContent.includes('no token')");
    browser.screenshot("token.png");
    browser.tab_to("token");
    browser.press("open-sesame\u{e007}");
    browser
        .wait("document.getElementById('sets').rows.length === 1 && document.getElementById('login').hidden");

    // A link would send no token.
    for (link, contents) in [("metrics", "hamdex_set_up"), ("api", "\"openapi\": \"3.1")] {
        browser.tab_to(link);
        browser.press("\u{e007}");
        browser.wait(&format!("document.getElementById('document-text').textContent.includes('{contents}')"));
    }
    browser.tab_to("document-close");
    browser.press("\u{e007}");
    assert_eq!(browser.run("return document.getElementById('document').hidden"), true);
}

#[test]
fn the_page_shows_no_figures_that_may_be_wrong_and_fits_a_phone() {
    let Some(browser) = Browser::start() else { return };
    let directory = tempfile::tempdir().unwrap();
    build(&directory.path().join("whole"), &[0x0123_4567_89ab_cdef, 2, 3]);
    build(&directory.path().join("broken"), &[1, 2, 3]);
    let path = directory.path().join("broken");
    let mut bytes = std::fs::read(&path).unwrap();
    let end = bytes.len();
    bytes[end - 30] ^= 1;
    std::fs::remove_file(&path).unwrap();
    std::fs::write(&path, bytes).unwrap();
    let running = Running::of(directory.path());
    let choose = |name: &str| {
        browser.run(&format!(
            "[...document.querySelectorAll('#sets button')].find(button => button.textContent === '{name}').click()"
        ));
    };
    browser.open(&running.url);
    browser.wait("document.getElementById('sets').rows.length === 2");
    choose("whole");
    browser.wait("document.getElementById('figures').innerText.includes('size of files')");
    browser.wait("!document.getElementById('query-section').hidden");
    choose("broken");
    browser.wait("document.getElementById('figures-problem').textContent.includes('broken')");
    assert_eq!(browser.run("return document.getElementById('figures').innerText"), "");
    assert_eq!(browser.run("return document.getElementById('query-section').hidden"), true);
    assert_eq!(browser.run("return document.getElementById('inside-section').hidden"), true);
    choose("whole");
    browser.wait("document.getElementById('figures').innerText.includes('size of files')");
    assert_eq!(browser.run("return document.getElementById('figures-problem').textContent"), "");

    // The width of a phone.
    let phone = json!({ "width": 375, "height": 800, "deviceScaleFactor": 1, "mobile": true });
    let command = json!({ "cmd": "Emulation.setDeviceMetricsOverride", "params": phone });
    browser.post("goog/cdp/execute", &command);
    browser.wait("!document.getElementById('look').hidden");
    browser.run("document.getElementById('asked').value = '0123456789abcdee'; document.querySelector('#query button').click()");
    browser.wait("document.querySelector('#results td.digits')");
    browser.screenshot("phone.png");
    let width = browser.run("return document.documentElement.scrollWidth");
    assert!(width.as_u64().unwrap() <= 375, "{width}");

    running.end();
    browser.wait("document.getElementById('state').textContent.startsWith('connection lost')");
    assert_eq!(browser.run("return document.getElementById('sets').rows.length"), 0);
    assert_eq!(browser.run("return document.getElementById('chosen').hidden"), true);
    browser.screenshot("lost.png");
}
