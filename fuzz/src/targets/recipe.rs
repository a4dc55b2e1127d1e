//! Recipes as text, and texts by them: what is read is written and read again, and a text has one fingerprint.

use hamdex::Fingerprint;
use hamdex_simhash::{Fingerprinter, Recipe, Scratch};

/// The first line is a recipe; what follows is a text.
pub fn run(input: &[u8]) {
    let input = String::from_utf8_lossy(input);
    let (recipe, text) = input.split_once('\n').unwrap_or((&input, ""));
    let Ok(recipe) = recipe.parse::<Recipe>() else { return };
    let written = recipe.to_string();
    assert_eq!(written.parse().as_ref(), Ok(&recipe), "{written}");
    match recipe.width.bits() {
        64 => fingerprint::<u64>(&recipe, text),
        _ => fingerprint::<u128>(&recipe, text),
    }
}

fn fingerprint<F: Fingerprint>(recipe: &Recipe, text: &str) {
    let Ok(fingerprinter) = Fingerprinter::<F>::new(recipe) else { return };
    let mut scratch = Scratch::default();
    let first = fingerprinter.fingerprint(text, &mut scratch);
    // Earlier work leaves no trace.
    let _ = fingerprinter.fingerprint("something else altogether, of ten words or even more", &mut scratch);
    assert_eq!(fingerprinter.fingerprint(text, &mut scratch), first);
    assert_eq!(fingerprinter.fingerprint(text, &mut Scratch::default()), first);
}

/// All named recipes, in short and in full, with texts.
#[must_use]
pub fn seeds() -> Vec<Vec<u8>> {
    let text = "It was a dark and stormy night; the rain fell in torrents. \u{4eca}\u{5929}\u{662f} İstanbul ǅ\u{301} a_b 12.5";
    let named = Recipe::NAMES.iter().flat_map(|name| {
        let full = name.parse::<Recipe>().expect("it has a name").to_string();
        [format!("{name}\n{text}"), format!("{full}\n{text}")]
    });
    let varied = [
        "default width=128 case=lower tokens=words shingle=chars:9 weight=log top=12",
        "seomoz tokens=py-joined hash=murmur3:3 tie=1 empty=feature min-features=9 weight=once",
        "default tokens=whole shingle=chars:1 min-chars=2 min-tokens=5 case=simple",
    ];
    named.chain(varied.iter().map(|recipe| format!("{recipe}\n{text}"))).map(String::into_bytes).collect()
}
