//! Web pages that differ in what surrounds their text: the near-duplicates that the paper begins with (Manku, Jain and
//! Das Sarma, section 1: advertisements, counters and timestamps).

use crate::truth::Truth;

/// Sentences of advertisements, a few of which stand on each page.
const ADVERTS: [&str; 12] = [
    "Fly to the islands this winter from 99 and bring a friend for half the price.",
    "Your neighbours already save on electricity, so find out how much you could save.",
    "New in store: running shoes for every season, now with free returns for sixty days.",
    "Learn a language in three weeks with ten minutes a day, the first lesson is free.",
    "The family car of the year is here, book a test drive at a dealer near you.",
    "Sell your old phone today and be paid tomorrow, no questions asked.",
    "Fresh vegetables delivered to your door every Tuesday, straight from the farm.",
    "Open an account by Friday and receive a welcome bonus of two hundred points.",
    "Five doctors recommend this mattress, and so does everyone who slept on it.",
    "Tickets for the summer festival are going fast, secure yours before midnight.",
    "Switch to faster internet at home and watch everything without a pause.",
    "Insure your bicycle for less than the price of a cup of coffee a month.",
];

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// Puts the text of each document on two pages that differ in an advertisement, a counter of visitors and a date, and
/// nothing else. Returns the pages, two by two, and the truth that the two of a document are near-duplicates.
pub(crate) fn pages_that_differ<T: AsRef<str>>(texts: &[T]) -> (Vec<String>, Truth) {
    let pages = texts
        .iter()
        .enumerate()
        .flat_map(|(number, text)| [0, 1].map(|copy| page(text.as_ref(), (2 * number + copy) as u64)));
    let pairs = (0..texts.len() as u32).map(|document| (2 * document, 2 * document + 1));
    (pages.collect(), Truth::of_pairs(pairs))
}

fn page(text: &str, number: u64) -> String {
    // Scattered, so that the two pages of a document have little in common around it.
    let chance = |salt: u64, below: u64| {
        let mixed =
            (number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ salt.wrapping_mul(0xd6e8_feb8_6659_fd93);
        (mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) % below
    };
    let month = MONTHS[chance(1, 12) as usize];
    let (day, hour, minute) = (1 + chance(2, 28), chance(3, 24), chance(4, 60));
    let advert = ADVERTS[(chance(5, 6) * 2 + number % 2) as usize];
    let visitors = 1000 + chance(6, 9_000_000);
    format!(
        "Today is {day} {month} 2006, {hour:02}:{minute:02}.\n{text}\nAdvertisement: {advert}\nYou are visitor \
         {visitors} of this page. Last updated on {day} {month} 2006.\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_two_pages_of_a_text_differ_around_it() {
        let texts: Vec<String> = (0..100).map(|number| format!("text {number}")).collect();
        let (pages, truth) = pages_that_differ(&texts);
        assert_eq!((pages.len(), truth.pairs()), (200, 100));
        assert!(truth.contains(8, 9) && !truth.contains(9, 10));
        for (pair, text) in pages.chunks(2).zip(&texts) {
            let lines = pair.iter().map(|page| page.lines().collect::<Vec<_>>()).collect::<Vec<_>>();
            assert_eq!((lines[0][1], lines[1][1]), (&**text, &**text));
            for changed in [0, 2, 3] {
                assert_ne!(lines[0][changed], lines[1][changed]);
            }
        }
        assert_eq!(pages, pages_that_differ(&texts).0);
    }
}
