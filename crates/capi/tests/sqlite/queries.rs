//! Random statements over the table `hamdex`, compared with the same statements over a plain table of all its rows.

use std::fmt::Write as _;

use hamdex::{BuildOptions, Builder, Fingerprint};

use crate::{Extension, build_index, insert};

const STATEMENTS: u64 = 600;

/// The distances that statements ask for.
const DISTANCES: [u32; 3] = [0, 2, 5];

/// Crowded fingerprints: a few centres, their neighbours, and repeats.
fn crowded() -> Vec<u64> {
    let centre = |number: u64| number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let near = |number: u64| centre(number % 5) ^ 1 << (number % 7) ^ 1 << (number * number % 11 + 20);
    (0..40).map(|number| if number % 8 == 7 { centre(number % 3) } else { near(number) }).collect()
}

/// Random choices of parts of statements. `h` and `g` are tables of matches, `a` is the table of queries.
struct Choices {
    state: u64,
    queries: Vec<u64>,
}

impl Choices {
    fn below(&mut self, end: u64) -> u64 {
        self.state = self.state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (self.state >> 33) % end
    }

    fn one_of<'t>(&mut self, texts: &[&'t str]) -> &'t str {
        texts[self.below(texts.len() as u64) as usize]
    }

    fn path(&mut self) -> &'static str {
        self.one_of(&["'ids.hamdex'", "'some.hamdex'", "'plain.hamdex'"])
    }

    fn query(&mut self) -> String {
        let place = self.below(self.queries.len() as u64) as usize;
        format!("x'{}'", self.queries[place].hex())
    }

    fn distance(&mut self) -> u32 {
        DISTANCES[self.below(3) as usize]
    }

    /// The arguments of a table, as terms of a condition. `query` is an expression of another table.
    fn arguments(&mut self, table: &str, query: Option<&str>) -> String {
        let path = match self.below(4) {
            0 => format!("{table}.path IN ({}, {})", self.path(), self.path()),
            _ => format!("{table}.path = {}", self.path()),
        };
        let query = match (query, self.below(4)) {
            (Some(query), _) => format!("{table}.query = {query}"),
            (None, 0) => format!("{table}.query IN ({}, {}, {})", self.query(), self.query(), self.query()),
            (None, 1) => format!("({table}.query = {} OR {table}.query = {})", self.query(), self.query()),
            (None, 2) => format!("{table}.query = (SELECT hash FROM asked WHERE id = {})", self.below(50)),
            (None, _) => format!("{table}.query = {}", self.query()),
        };
        let distance = match self.below(5) {
            0 => format!("{table}.max_distance IN ({}, {})", self.distance(), self.distance()),
            _ => format!("{table}.max_distance = {}", self.distance()),
        };
        format!("{path} AND {query} AND {distance}")
    }

    /// A condition on the columns of a table.
    fn condition(&mut self, table: &str, depth: u32) -> String {
        if depth > 0 && self.below(2) == 0 {
            let (left, right) = (self.condition(table, depth - 1), self.condition(table, depth - 1));
            return format!("({left} {} {right})", self.one_of(&["OR", "OR", "AND", "AND NOT"]));
        }
        let number = self.below(40);
        match self.below(7) {
            0 => format!("{table}.id = {number}"),
            1 => format!("{table}.id IN ({number}, {}, {})", self.below(40), self.below(40)),
            2 => format!("{table}.distance = {}", self.below(4)),
            3 => format!("{table}.distance BETWEEN {} AND {}", self.below(3), self.below(6)),
            4 => format!("{table}.fingerprint {} {}", self.one_of(&["=", "<", ">="]), self.query()),
            5 => format!("{table}.id IS {} NULL", self.one_of(&["", "NOT"])),
            _ => format!("{table}.id {} {number}", self.one_of(&["<", ">", "<>"])),
        }
    }

    /// A condition that gives the arguments, by one of the ways to write it.
    fn selection(&mut self, table: &str, query: Option<&str>) -> String {
        match self.below(5) {
            0 => self.arguments(table, query),
            1 => format!("{} AND {}", self.arguments(table, query), self.condition(table, 2)),
            2 => {
                let mut sides = Vec::new();
                for _ in 0..2 + self.below(2) {
                    sides.push(format!(
                        "({} AND {})",
                        self.arguments(table, query),
                        self.condition(table, 1)
                    ));
                }
                format!("({})", sides.join(" OR "))
            }
            // The same rows on both sides.
            3 => {
                let arguments = self.arguments(table, query);
                let (left, right) = (self.condition(table, 1), self.condition(table, 1));
                format!("(({arguments} AND {left}) OR ({arguments} AND {right}))")
            }
            _ => {
                let (path, distance) = (self.path(), self.distance());
                let mut sides = Vec::new();
                for _ in 0..2 {
                    let query = query.map_or_else(|| self.query(), str::to_owned);
                    sides.push(format!("({table}.query = {query} AND {})", self.condition(table, 1)));
                }
                let sides = sides.join(" OR ");
                format!("{table}.path = {path} AND {table}.max_distance = {distance} AND ({sides})")
            }
        }
    }

    /// A statement over the table `TABLE`. Its order is total, or its columns are those that it is ordered by.
    fn statement(&mut self) -> String {
        let columns = "h.path, h.query, h.max_distance, h.id, h.distance, h.fingerprint";
        let order = self.one_of(&[
            "1, 2, 3, 4, 5, 6",
            "5, 4 DESC, 1, 2, 3, 6",
            "5 DESC, 6, 1, 3, 2, 4",
            "h.distance, 6, 4, 3, 2, 1",
        ]);
        let limit = match self.below(4) {
            0 => format!(" LIMIT {} OFFSET {}", self.below(9), self.below(3)),
            _ => String::new(),
        };
        let end = format!("ORDER BY {order}{limit}");
        let few = format!("a.id < {}", 1 + self.below(12));
        match self.below(12) {
            0 | 1 => format!("SELECT {columns} FROM TABLE AS h WHERE {} {end}", self.selection("h", None)),
            2 => {
                let (on, condition) = (self.selection("h", Some("a.hash")), self.condition("h", 1));
                format!(
                    "SELECT {columns} FROM asked AS a JOIN TABLE AS h ON {on} WHERE {few} AND {condition} {end}"
                )
            }
            3 => {
                let on = self.selection("h", Some("a.hash"));
                format!(
                    "SELECT {columns}, a.id FROM asked AS a LEFT JOIN TABLE AS h ON {on} WHERE {few} ORDER BY {order}, 7{limit}"
                )
            }
            4 => {
                let (on, condition) = (self.arguments("h", Some("a.hash")), self.condition("h", 1));
                format!(
                    "SELECT {columns}, a.id FROM asked AS a LEFT JOIN TABLE AS h ON {on}
                     WHERE {few} AND (h.distance IS NULL OR {condition}) ORDER BY {order}, 7{limit}"
                )
            }
            5 => {
                let (on, not) = (self.selection("h", Some("a.hash")), self.one_of(&["", "NOT"]));
                format!(
                    "SELECT id FROM asked AS a WHERE {not} EXISTS (SELECT 1 FROM TABLE AS h WHERE {on} AND h.id <> a.id) ORDER BY 1{limit}"
                )
            }
            6 => {
                let (on, what) = (
                    self.selection("h", Some("a.hash")),
                    self.one_of(&["count(*)", "min(h.id)", "sum(h.distance)"]),
                );
                format!(
                    "SELECT a.id, (SELECT {what} FROM TABLE AS h WHERE {on}) FROM asked AS a WHERE {few} ORDER BY 2, 1{limit}"
                )
            }
            7 => {
                let selection = self.selection("h", None);
                format!(
                    "SELECT id FROM asked AS a WHERE a.id IN (SELECT h.id FROM TABLE AS h WHERE {selection}) ORDER BY 1{limit}"
                )
            }
            8 => {
                let (first, second) = (self.selection("h", None), self.selection("g", Some("h.fingerprint")));
                format!(
                    "SELECT h.id, h.distance, g.id, g.distance, g.fingerprint, g.max_distance FROM TABLE AS h JOIN TABLE AS g ON {second} WHERE {first} ORDER BY 1, 2, 3, 4, 5, 6{limit}"
                )
            }
            9 => format!(
                "SELECT h.distance, count(*), count(DISTINCT h.fingerprint) FROM TABLE AS h WHERE {} GROUP BY h.distance ORDER BY 1{limit}",
                self.selection("h", None)
            ),
            10 => {
                let word = self.one_of(&["UNION", "UNION ALL", "EXCEPT", "INTERSECT"]);
                let (left, right) = (self.selection("h", None), self.selection("h", None));
                format!(
                    "SELECT h.id, h.distance FROM TABLE AS h WHERE {left} {word} SELECT h.id, h.distance FROM TABLE AS h WHERE {right} ORDER BY 1, 2{limit}"
                )
            }
            _ => {
                let distinct = self.one_of(&["", "DISTINCT"]);
                format!(
                    "SELECT {distinct} h.distance FROM TABLE AS h WHERE {} ORDER BY h.distance{limit}",
                    self.selection("h", None)
                )
            }
        }
    }
}

/// Builds the files, and the plain table of all rows that any scan of them returns.
fn prepare(extension: &Extension, stored: &[u64]) -> String {
    build_index(&extension.path("ids.hamdex"), stored);
    build_index(&extension.path("some.hamdex"), &stored[..23]);
    let mut plain =
        Builder::<u64>::with_options(extension.path("plain.hamdex"), BuildOptions::new()).unwrap();
    stored[10..].iter().for_each(|&one| plain.push(one).unwrap());
    plain.finish().unwrap();
    let mut sql = insert("asked", stored);
    sql += "CREATE TABLE plain(path, query, max_distance, id, distance, fingerprint);\n";
    for distance in DISTANCES {
        for (path, rows) in [
            ("ids", "SELECT id, hash FROM asked"),
            ("some", "SELECT id, hash FROM asked WHERE id < 23"),
            ("plain", "SELECT DISTINCT NULL AS id, hash FROM asked WHERE id >= 10"),
        ] {
            writeln!(
                sql,
                "INSERT INTO plain SELECT '{path}.hamdex', q.hash, {distance}, s.id, hamming(s.hash, q.hash), s.hash
                 FROM (SELECT DISTINCT hash FROM asked) AS q, ({rows}) AS s WHERE hamming(s.hash, q.hash) <= {distance};"
            )
            .unwrap();
        }
    }
    sql
}

#[test]
fn statements_equal_those_over_a_plain_table() {
    let Some(extension) = Extension::new() else { return };
    let stored = crowded();
    let mut sql = prepare(&extension, &stored);
    let mut choices = Choices { state: 40, queries: stored };
    let statements: Vec<String> = (0..STATEMENTS).map(|_| choices.statement()).collect();
    for statement in &statements {
        for table in ["hamdex", "plain"] {
            writeln!(sql, ".print ==\n{};", statement.replace("TABLE", table)).unwrap();
        }
    }
    let output = extension.output(&sql);
    let error = output.lines().find(|line| line.contains("rror"));
    assert_eq!(error, None);
    let answers: Vec<&str> = output.split("==\n").skip(1).collect();
    assert_eq!(answers.len(), 2 * statements.len());
    let mut rows = 0;
    for (statement, answers) in statements.iter().zip(answers.chunks(2)) {
        assert_eq!(answers[0], answers[1], "{statement}");
        rows += answers[0].lines().count();
    }
    assert!(rows > 5 * statements.len(), "{rows} rows");
}
