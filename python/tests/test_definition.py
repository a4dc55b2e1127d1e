"""A second program that finds near-duplicates, by the page that defines them (docs/dedup.md), as plainly as possible.

It shares no code with hamdex: words come from the rules of Unicode Standard Annex 29 with properties taken from Python's
tables, and every text is compared with every kept one.
"""

import json
import random
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path

import hamdex
import pytest

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"

Shingles = frozenset[tuple[str, ...]]

# 1. Normalisation.

APOSTROPHES = set("'`\u00b4\u02bb\u02bc\u02bd\u055a\u1fef\u1ffd\u2018\u2019\u201b\u2032\uff07\uff40")

IGNORABLE = [
    (0xAD, 0xAD), (0x34F, 0x34F), (0x61C, 0x61C), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F),
    (0x200B, 0x200F), (0x202A, 0x202E), (0x2060, 0x206F), (0x3164, 0x3164), (0xFE00, 0xFE0F), (0xFEFF, 0xFEFF),
    (0xFFA0, 0xFFA0), (0xFFF0, 0xFFF8), (0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A), (0xE0000, 0xE0FFF),
]  # fmt: skip


def visible(text: str) -> str:
    """Drop what cannot be seen, and make apostrophes one."""
    kept = (c for c in text if not any(low <= ord(c) <= high for low, high in IGNORABLE))
    return "".join("'" if c in APOSTROPHES else c for c in kept)


def normalised(text: str) -> str:
    """Return the form in which texts are compared."""
    decomposed = visible(unicodedata.normalize("NFKD", visible(text)))
    return unicodedata.normalize("NFKC", decomposed.casefold())


# 2. Words.

# Scripts in which every character is a word (line breaking class SA), by their blocks.
NO_SPACES = [(0xE00, 0xEFF), (0x1000, 0x109F), (0x1780, 0x17FF), (0x1950, 0x19DF), (0x1A20, 0x1AAF), (0xA9E0, 0xA9FF)]


@cache
def word_break(c: str) -> str:
    """Return the property Word_Break of a character, as far as texts here have it."""
    code, category, name = ord(c), unicodedata.category(c), unicodedata.name(c, "")
    if c in "\r\n\x0b\x0c\x85\u2028\u2029":
        return "Newline"
    if category in ("Mn", "Me", "Mc"):
        return "Extend"
    if c == "'":
        return "Single_Quote"
    if c == '"':
        return "Double_Quote"
    if c in ".\u2018\u2019\u2024\ufe52":
        return "MidNumLet"
    if c in ":\u00b7\u0387\u055f\u05f4\u2027":
        return "MidLetter"
    if c in ",;\u037e\u0589\u060c\u060d\u066c\u07f8\u2044":
        return "MidNum"
    if category == "Nd" or c in "\u066b":
        return "Numeric"
    if category == "Pc" or c == "\u202f":
        return "ExtendNumLet"
    if category == "Cf":
        return "Format"
    if "KATAKANA" in name and category.startswith(("L", "S")):
        return "Katakana"
    if category == "Lo" and name.startswith("HEBREW"):
        return "Hebrew_Letter"
    if c in "\u055b\u055c\u055e\u058a\u05f3":
        return "ALetter"
    ideographic = name.startswith(("CJK UNIFIED", "CJK COMPATIBILITY IDEOGRAPH")) or c in "\u3006\u3007"
    without_spaces = "HIRAGANA" in name or any(low <= code <= high for low, high in NO_SPACES)
    if (category.startswith("L") or category == "Nl") and not ideographic and not without_spaces:
        return "ALetter"
    return "Other"


def segments(text: str) -> Iterable[str]:
    """Cut a text by the rules WB1 to WB999, without those of emoji and flags, which have no letters."""
    start = 0
    for place in range(1, len(text) + 1):
        if place == len(text) or is_boundary(text, place):
            yield text[start:place]
            start = place


def is_boundary(text: str, place: int) -> bool:
    """Tell whether a word may end before this place."""
    if word_break(text[place - 1]) == "Newline" or word_break(text[place]) == "Newline":
        return True
    if word_break(text[place]) in ("Extend", "Format"):
        return False  # WB4
    # The letter below a mark counts, not the mark.
    before = [word_break(c) for c in text[:place] if word_break(c) not in ("Extend", "Format")][-2:]
    after = [word_break(c) for c in text[place:] if word_break(c) not in ("Extend", "Format")][:2]
    before = [""] * (2 - len(before)) + before
    after = after + [""] * (2 - len(after))
    letters, quotes = ("ALetter", "Hebrew_Letter"), ("MidNumLet", "Single_Quote")
    (second_last, last), (first, second) = before, after
    joined = (
        (last in letters and first in letters)
        or (last in letters and first in ("MidLetter", *quotes) and second in letters)
        or (second_last in letters and last in ("MidLetter", *quotes) and first in letters)
        or (last == "Hebrew_Letter" and first == "Single_Quote")
        or (last == "Hebrew_Letter" and first == "Double_Quote" and second == "Hebrew_Letter")
        or (second_last == "Hebrew_Letter" and last == "Double_Quote" and first == "Hebrew_Letter")
        or (last == "Numeric" and first in ("Numeric", *letters))
        or (last in letters and first == "Numeric")
        or (second_last == "Numeric" and last in ("MidNum", *quotes) and first == "Numeric")
        or (last == "Numeric" and first in ("MidNum", *quotes) and second == "Numeric")
        or (last == first == "Katakana")
        or (last in (*letters, "Numeric", "Katakana", "ExtendNumLet") and first == "ExtendNumLet")
        or (last == "ExtendNumLet" and first in (*letters, "Numeric", "Katakana"))
    )
    return not joined


SPACES = "\t\n\x0b\x0c\r "


def words(text: str, width: int) -> list[str]:
    """Return the segments with a letter or digit; of a text that has few, those with a symbol as well, unless it has
    little of either."""
    form = normalised(text)
    pieces = "".join(" " if c in SPACES else c for c in form).split(" ")
    all_segments = [segment for piece in pieces for segment in cached_segments(piece)]
    found = [segment for segment in all_segments if any(map(is_letter_or_digit, segment))]
    visible_length = sum(c not in SPACES for c in text)
    if len(found) >= width and 2 * sum(map(len, found)) >= visible_length:
        return found
    found = [segment for segment in all_segments if any(is_letter_or_digit(c) or is_sign(c) for c in segment)]
    return found if 2 * sum(map(len, found)) >= sum(c not in SPACES for c in form) else []


@cache
def cached_segments(piece: str) -> tuple[str, ...]:
    return tuple(segments(piece))


@cache
def is_letter_or_digit(c: str) -> bool:
    """Tell whether a character is alphabetic or a number. Alphabetic marks stand on letters, except in lists of Thai."""
    return unicodedata.category(c)[0] in "LN" or c in "\u0e31\u0e34\u0e35\u0e36\u0e37\u0e38\u0e39\u0e3a\u0e4d"


def is_sign(c: str) -> bool:
    """Tell whether a character is a symbol, of private use or unassigned."""
    if c == "\ufffd":
        return False
    return unicodedata.category(c)[0] == "S" or unicodedata.category(c) in ("Co", "Cn")


# 3. Shingles and similarity.


def shingles(text: str, width: int) -> Shingles:
    """Return the set of runs of `width` words; of fewer words the only run; without any, the text."""
    found = words(text, width)
    if not found:
        whole = normalised(text).strip()
        return frozenset([("", whole)] if whole else [])
    return frozenset(tuple(found[i : i + width]) for i in range(max(1, len(found) - width + 1)))


def similarity(one: Shingles, other: Shingles) -> float:
    """Return the share of shingles in common."""
    shared = len(one & other)
    return shared / (len(one) + len(other) - shared) if shared else 0.0


# 4. Clusters.


def clusters(texts: Sequence[str], least: float = 0.7, width: int = 5, linked: bool = False) -> dict[int, int]:
    """Return the kept document of every document in a cluster of two or more."""
    sets = [shingles(text, width) for text in texts]
    kept: dict[int, int] = {}
    if linked:
        for one in range(len(texts)):
            group = {one}
            for other in range(one):
                if similarity(sets[one], sets[other]) >= least:
                    group |= {document for document, its in kept.items() if its == kept[other]}
            kept |= dict.fromkeys(group, min(kept.get(document, one) for document in group))
    else:
        centres: list[int] = []
        for one in range(len(texts)):
            near = (centre for centre in centres if similarity(sets[centre], sets[one]) >= least)
            kept[one] = next(near, one)
            if kept[one] == one:
                centres.append(one)
    sizes = Counter(kept.values())
    return {document: centre for document, centre in kept.items() if sizes[centre] > 1}


def found(texts: Sequence[str], **options: object) -> dict[int, int]:
    """Return the same of hamdex."""
    table = hamdex.dedup(list(texts), **options)  # type: ignore[call-overload]
    columns = (table[name].tolist() for name in ("cluster", "id", "kept"))
    rows: list[tuple[int, int, bool]] = list(zip(*columns, strict=True))
    centres = {cluster: document for cluster, document, is_kept in rows if is_kept}
    return {document: centres[cluster] for cluster, document, _ in rows}


def articles() -> list[str]:
    path = SHARED / "articles_1000.train"
    if not path.exists():
        pytest.skip(f"no {path.name} in ../shared/data next to the project")
    return [line.split(" ", 1)[1] for line in path.read_text("utf-8").splitlines()]


def manual() -> list[str]:
    path = SHARED / "install-guide.jsonl"
    if not path.exists():
        pytest.skip(f"no {path.name} in ../shared/data next to the project")
    return [json.loads(line)["text"] for line in path.read_text("utf-8").splitlines()]


@pytest.mark.parametrize("linked", [False, True])
def test_articles_have_the_clusters_of_the_definition(linked: bool) -> None:
    """English news, a few of them altered copies."""
    texts = articles()[:400 if linked else None]
    for least in (0.7, 0.3):
        expected = clusters(texts, least, linked=linked)
        how = "linked" if linked else "stars"
        assert found(texts, similarity=least, clusters=how) == expected
        assert expected


def test_pages_of_a_manual_have_the_clusters_of_the_definition() -> None:
    """English and Chinese, with commands, addresses and tables."""
    texts = manual()
    expected = clusters(texts)
    assert len(expected) > 100
    assert found(texts) == expected
    assert found(texts, similarity=0.9, shingle=3) == clusters(texts, 0.9, 3)


ALPHABETS = [
    "don't won’t we`re naïve nai\u0308ve café caf\u0065\u0301 STRASSE straße Straße ﬁne fine Ｆｕｌｌ full",
    "soft\u00adhyphen softhyphen zero\u200bwidth zerowidth \ufeff x\u2060y xy a\u034f\u0301 á 3.14 3,14 1’000 1'000",
    "user_1 e.g. a:b a.b U.S.A. u.s.a x² x2 ½ ㎏ kg Å Å №5 no5 … ... ‐ - \u0301 ʼn ŉ",
    "ΟΔΟΣ οδος ΌΣΟΣ όσος ᾳ αι ᾴ Привет ПРИВЕТ ёж Ёж ещё",
    'עברית צה"ל גרש׳ ג\'ירפה العربية ﷺ كتاب كتابٌ ١٢٣ ۱۲',
    "我们 我們 在家里 吃饭，好。 中文ABC 日本語 データ ﾃﾞｰﾀ ガラス ｶﾞﾗｽ ひらがな カタカナを見る",
    "👍 👎 = == != <= C++ C ⠓⠑ ⠺⠕ \ue000 \ue001\ue002 +1 $5 5 © ® ☃ ☃☃ → a→b ~ ^",
    "\ufffd \ufffd\ufffd \ufffd\ufffd\ufffd ? ?? ???? 2024 1 ... --- (a) -b- \x01 \x02\x01 \u0301\u0302",
    "한국어 한국어 텍스트 ภาษาไทย ภาษา ไทย ខ្មែរ हिन्दी तमिल தமிழ்",
]


def made_up(seed: int) -> list[str]:
    """Texts of one script or several, many of them copies with a few words or their writing changed."""
    chance = random.Random(seed)
    vocabulary = " ".join(chance.sample(ALPHABETS, chance.randint(1, 3))).split(" ")
    texts: list[str] = ["", " \n", "?!", "？！", "\u200b"]
    for _ in range(60):
        if len(texts) > 6 and chance.random() < 0.6:
            old = chance.choice(texts[5:]).split(" ")
            for _ in range(chance.randint(0, 3)):
                old[chance.randrange(len(old))] = chance.choice(vocabulary)
            forms = [str, str.upper, str.title, lambda text: unicodedata.normalize("NFD", text)]
            forms += [lambda text: unicodedata.normalize("NFKC", text), lambda text: text.replace("'", "’")]
            texts.append(chance.choice(forms)(" ".join(old)))  # type: ignore[operator]
        else:
            texts.append(chance.choice([" ", " ", ", ", "\n"]).join(chance.choices(vocabulary, k=chance.randint(1, 40))))
    return texts


@pytest.mark.parametrize("seed", range(40))
def test_made_up_texts_have_the_clusters_of_the_definition(seed: int) -> None:
    """All scripts and forms of writing, short and long."""
    texts = made_up(seed)
    least, width = [(0.7, 5), (0.5, 1), (0.9, 2), (1.0, 3)][seed % 4]
    assert found(texts, similarity=least, shingle=width) == clusters(texts, least, width)
    assert found(texts, similarity=least, shingle=width, clusters="linked") == clusters(texts, least, width, linked=True)


def test_what_people_take_for_equal_is_equal() -> None:
    """Each line of the page's table of examples."""
    for one, other in [
        ("don’t", "DON'T"),
        ("café", "cafe\u0301"),
        ("Straße", "STRASSE"),
        ("Ｎｏ．１", "no.1"),
        ("Ent\u00adwick\u00adlung", "Entwicklung"),
        ("ﬁne", "fine"),
        ("ΟΔΟΣ", "οδος"),
    ]:
        assert words(one, 5) == words(other, 5)
        assert found([one, other]) == {0: 0, 1: 0}
