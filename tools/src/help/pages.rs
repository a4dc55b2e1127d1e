//! The lines of `-h`: the common uses and the important options of each command.
//!
//! An option that is not here is in `--help` only. Arguments without dashes go by the name of their value; without a
//! line here they have the one of `--help`.

/// The lines of a command.
pub(super) struct Page {
    /// The command without the name of the program.
    pub(super) command: &'static str,
    /// Command lines, each with its purpose; none where the definition of the command has them.
    pub(super) uses: &'static [(&'static str, &'static str)],
    /// Options in their order, each with its line. `name=VALUE` also names the value.
    pub(super) options: &'static [(&'static str, &'static str)],
}

/// Returns the lines of a command.
pub(super) fn of(command: &str) -> &'static Page {
    const NONE: Page = Page { command: "", uses: &[], options: &[] };
    PAGES.iter().find(|page| page.command == command).unwrap_or(&NONE)
}

const BLOCK_SIZE: (&str, &str) = ("block-size", "Use blocks of this size: a power of two from 512 to 8192");
const CODEC: (&str, &str) = ("codec", "Encode blocks by huffman (smaller) or elias-fano (faster)");
const DESIGN: (&str, &str) = ("design", "Use these tables: a name that `hamdex designs` lists, or auto");
const DOCUMENTS: (&str, &str) = ("documents", "Read documents, not fingerprints");
const EXCLUDE: (&str, &str) =
    ("exclude", "Skip the files and folders that match, in directories and archives");
const FILES_FROM: (&str, &str) =
    ("files-from", "Read the names of inputs from this file, - for standard input");
const FILTER: (&str, &str) = ("filter", "Add prefix filters: auto, none, or at most N bits per fingerprint");
const FINGERPRINT_FIELD: (&str, &str) =
    ("fingerprint-field", "Read fingerprints from this column [default: fingerprint]");
const FORCE: (&str, &str) = ("force", "Replace the output if it exists");
const FORMAT: (&str, &str) = ("format", "Read the inputs as csv, jsonl, parquet, html, ... [default: auto]");
const ID_FIELD: (&str, &str) = ("id-field", "Read ids from this field or column [default: id]");
const INCLUDE: (&str, &str) = ("include", "Read only the files that match, in directories and archives");
const LOOKUPS: (&str, &str) = ("lookups", "Keep look-ups: find by id or name without a full scan");
const MEMORY: (&str, &str) = ("memory", "Limit memory [default: a quarter of the usable memory]");
const OUTCOME: (&str, &str) = ("json", "Print the outcome as a JSON object");
const RECIPE: (&str, &str) = ("recipe", "Compute fingerprints by this recipe");
const SHINGLES: (&str, &str) = ("shingles", "Keep the shingles of documents, to compare texts");
const SUMMARY: (&str, &str) = ("json", "Print a summary as a JSON object");
const TABLE_FILE: (&str, &str) = ("output", "Write a .jsonl, .csv, .tsv, .parquet or .arrow file");
const TEXT_FIELD: (&str, &str) = ("text-field", "Read texts from this field or column [default: text]");
const THREADS: (&str, &str) = ("threads", "Use N threads [default: all]");
const WIDTH: (&str, &str) = ("width", "Use fingerprints of 64 or 128 bits");
const WITHIN: (&str, &str) = ("distance", "Find fingerprints within K bits [default: 3]");

pub(super) const PAGES: &[Page] = &[
    Page {
        command: "",
        uses: &[
            ("hamdex dedup articles.jsonl", "list the near-duplicates"),
            ("hamdex build -o news.hamdex fingerprints.txt", "build an index"),
            ("hamdex query news.hamdex 0123456789abcdef", "query the index"),
        ],
        options: &[("quiet", "Print errors only: no progress, summaries or warnings")],
    },
    Page {
        command: "dedup",
        uses: &[],
        options: &[
            ("similarity", "Compare texts: duplicates share X of their shingles [default: 0.7]"),
            ("distance", "Compare fingerprints: duplicates differ in at most K bits"),
            ("keep=RULE", "Keep first, longest, max:FIELD or min:FIELD [default: first]"),
            ("fingerprints", "Read fingerprints, not texts"),
            ("against", "Leave out near-duplicates of this file, folder or index"),
            ("unique", "Write the remaining documents instead of the clusters"),
            ("output-dir", "Write a copy of the inputs without duplicates, file by file"),
            ("out", TABLE_FILE.1),
            ("html", "Write an HTML page of the largest clusters"),
            ("print", "Print ids alone, one per line: duplicates or kept"),
            ("json", "Print a JSON object for each document in a cluster"),
            FILES_FROM,
            FORMAT,
            TEXT_FIELD,
            ID_FIELD,
            INCLUDE,
            EXCLUDE,
            MEMORY,
            THREADS,
            FORCE,
        ],
    },
    Page {
        command: "distance",
        uses: &[
            ("hamdex distance 0123456789abcdef 0123456789abcdee", "count differing bits"),
            ("hamdex distance draft.html published.html", "compare two documents"),
            ("hamdex distance --text 'one text' 'other text'", "compare two texts"),
        ],
        options: &[
            ("text", "Take A and B as texts, not as files or fingerprints"),
            ("words", "Compare shingles of N words [default: 5]"),
            ("notation", "Read fingerprints as auto, hex or decimal [default: auto]"),
            WIDTH,
            RECIPE,
            ("json", "Print a JSON object"),
        ],
    },
    Page {
        command: "fingerprint",
        uses: &[
            ("hamdex fingerprint articles.jsonl", "print a fingerprint per document"),
            ("hamdex fingerprint --width 128 notes/", "use 128 bits"),
            ("hamdex fingerprint pages.csv --parquet pages.parquet", "write a table"),
        ],
        options: &[
            RECIPE,
            WIDTH,
            ("json", "Print a JSON object for each document"),
            ("parquet", "Write a Parquet file with the columns id and fingerprint"),
            ("features", "Read weighted features, not documents"),
            FILES_FROM,
            FORMAT,
            TEXT_FIELD,
            ID_FIELD,
            INCLUDE,
            EXCLUDE,
            THREADS,
            FORCE,
        ],
    },
    Page {
        command: "idf",
        uses: &[
            ("hamdex idf news.jsonl -o news.idf", "build a dictionary"),
            ("hamdex dedup news.jsonl --idf news.idf", "weight words by the dictionary"),
        ],
        options: &[
            ("output", "Write the dictionary to this file, - for standard output"),
            ("max-words", "Count at most N words at a time [default: 1000000]"),
            RECIPE,
            SUMMARY,
            FILES_FROM,
            FORMAT,
            TEXT_FIELD,
            INCLUDE,
            EXCLUDE,
            FORCE,
        ],
    },
    Page {
        command: "build",
        uses: &[
            ("hamdex build -o news.hamdex fingerprints.txt", "index fingerprints"),
            ("hamdex build -o images.hamdex --ids names phashes.txt", "keep names too"),
            ("hamdex build -o a.hamdex --documents --shingles a.jsonl", "index documents"),
        ],
        options: &[
            (
                "INPUT",
                "Files to read, with --documents also archives or folders; - or none for standard input",
            ),
            ("output", "Write the index to this file, - for standard output"),
            WITHIN,
            DOCUMENTS,
            SHINGLES,
            ("ids", "Take ids from: none, row, pairs, names or numbers"),
            FORMAT,
            FINGERPRINT_FIELD,
            TEXT_FIELD,
            ID_FIELD,
            LOOKUPS,
            ("shards", "Build a set of N shards in a directory"),
            DESIGN,
            CODEC,
            FILTER,
            WIDTH,
            MEMORY,
            THREADS,
            SUMMARY,
            FORCE,
        ],
    },
    Page {
        command: "query",
        uses: &[
            ("hamdex query news.hamdex 0123456789abcdef", "find near fingerprints"),
            ("hamdex query news.hamdex --file queries.txt -k 5", "answer many queries"),
            ("hamdex query a.hamdex --document draft.html", "find similar documents"),
            ("hamdex query a.hamdex --containing 0.5 --text 'a quote'", "find a quote"),
        ],
        options: &[
            ("FINGERPRINT", "Fingerprints to find: hexadecimal or decimal"),
            ("file", "Read fingerprints to find from this file, - for standard input"),
            ("documents", "Take the file as documents, not fingerprints"),
            ("text", "Find documents similar to this text"),
            ("document", "Find documents similar to this text or HTML file"),
            ("similar", "Find documents that share a part T of all shingles [default: 0.7]"),
            ("containing", "Find documents that contain a part C of the text [default: 0.7]"),
            ("contained", "Find documents of which the text contains a part C [default: 0.7]"),
            ("distance", "Find fingerprints within K bits [default: the index's]"),
            ("nearest", "Find the M nearest fingerprints or most similar documents"),
            ("first", "Print one match per query"),
            ("limit", "Print at most N matches per query"),
            ("each", "Print one line per query, even without a match"),
            ("no-ids", "Print no ids"),
            FORMAT,
            FINGERPRINT_FIELD,
            TABLE_FILE,
            ("json", "Print a JSON object for each match"),
            THREADS,
            FORCE,
        ],
    },
    Page {
        command: "pairs",
        uses: &[
            ("hamdex pairs news.hamdex", "print all near pairs"),
            ("hamdex pairs news.hamdex --count", "count the pairs at each distance"),
            ("hamdex pairs articles.hamdex -k 2 --ids -o near.parquet", "write a table"),
        ],
        options: &[
            ("distance", "Find pairs within K bits [default: the distance of the index]"),
            ("ids", "Print the ids or names of both fingerprints"),
            ("ids-limit", "Print at most N ids of each fingerprint [default: 10]"),
            ("count", "Print only the number of pairs at each distance"),
            TABLE_FILE,
            ("json", "Print a JSON object for each pair"),
            MEMORY,
            THREADS,
            FORCE,
        ],
    },
    Page {
        command: "merge",
        uses: &[
            ("hamdex merge monday.hamdex tuesday.hamdex -o both.hamdex", "merge two files"),
            ("hamdex merge news.hamdex --design cover-8 -o fast.hamdex", "change tables"),
        ],
        options: &[
            ("output", "Write the index to this file, - for standard output"),
            DESIGN,
            ("distance", "Find fingerprints within K bits, with --design"),
            CODEC,
            FILTER,
            BLOCK_SIZE,
            MEMORY,
            THREADS,
            SUMMARY,
            FORCE,
        ],
    },
    Page {
        command: "verify",
        uses: &[
            ("hamdex verify news.hamdex", "check an index file"),
            ("hamdex verify pages.store --json", "check a store, for programs"),
        ],
        options: &[THREADS, OUTCOME],
    },
    Page {
        command: "dump",
        uses: &[
            ("hamdex dump news.hamdex", "show header, tables and filters"),
            ("hamdex dump news.hamdex --fingerprints --ids", "print all records"),
            ("hamdex dump news.hamdex --stats --html news.html", "draw the distribution"),
            ("hamdex dump news.hamdex --locate 0123456789abcdef", "explain a query"),
        ],
        options: &[
            ("fingerprints", "Print all fingerprints in ascending order"),
            ("ids", "Print the id of each fingerprint too"),
            ("names", "Print the name of each fingerprint too"),
            ("id", "Print the fingerprints of this id"),
            ("name", "Print the fingerprints of this name"),
            ("stats", "Show the distribution of the fingerprints"),
            ("html", "Write the statistics as an HTML page with charts"),
            ("table", "Show only this table; the first is 0"),
            ("block", "Show the entries of this block; the first is 0"),
            ("bits", "Show the bits of the block, field by field"),
            ("keys", "Show the last entry of each block of the table"),
            ("shingles", "Show the table of shingles, or its --block"),
            ("locate", "Show the blocks that a query for this fingerprint reads"),
            ("distance", "Locate within K bits [default: the distance of the index]"),
            ("json", "Print JSON"),
            FORCE,
        ],
    },
    Page {
        command: "designs",
        uses: &[
            ("hamdex designs --count 8000000000", "compare designs for 8 billion"),
            ("hamdex designs -k 6 --codec elias-fano", "compare designs for 6 bits"),
        ],
        options: &[
            ("count", "Estimate for N fingerprints [default: 100000000]"),
            WITHIN,
            CODEC,
            FILTER,
            BLOCK_SIZE,
            ("json", "Print a JSON array"),
        ],
    },
    Page {
        command: "store",
        uses: &[
            ("hamdex store create news.store", "create an empty store"),
            ("hamdex store insert news.store pairs.txt", "insert fingerprints and ids"),
            ("hamdex query news.store 0123456789abcdef", "query the store"),
        ],
        options: &[],
    },
    Page {
        command: "store create",
        uses: &[
            ("hamdex store create news.store", "store fingerprints and ids"),
            ("hamdex store create pages.store --ids names --lookups", "store names"),
            ("hamdex store create a.store --documents --shingles", "store documents"),
        ],
        options: &[
            ("distance", "Optimize for queries within K bits [default: 3]"),
            ("ids", "Store with each fingerprint: none, numbers or names"),
            ("documents", "Store documents: their names and the recipe of fingerprints"),
            SHINGLES,
            LOOKUPS,
            DESIGN,
            CODEC,
            FILTER,
            WIDTH,
            RECIPE,
            SUMMARY,
        ],
    },
    Page {
        command: "store insert",
        uses: &[
            ("hamdex store insert news.store pairs.txt", "insert fingerprints and ids"),
            ("hamdex store insert news.store --unless-near 3 new.txt", "insert new ones"),
            ("hamdex store insert pages.store --replace crawled.tsv", "replace by name"),
            ("hamdex store insert a.store --documents today.jsonl", "insert documents"),
        ],
        options: &[
            DOCUMENTS,
            FORMAT,
            ("ids", "Take ids from: pairs (fingerprint and id) or row [default: pairs]"),
            FINGERPRINT_FIELD,
            TEXT_FIELD,
            ID_FIELD,
            ("unless-near", "Skip records within K bits of a stored fingerprint"),
            ("unless-similar", "Skip documents that share X of their shingles with a stored one"),
            ("each", "Print a JSON line for every record"),
            ("replace", "Replace the stored records of the same id or name"),
            ("durability", "Sync batches to disk: sync, interval=T or none [default: sync]"),
            ("batch", "Write at most N records per batch [default: 1000]"),
            ("acknowledge", "Print a line after each durable batch"),
            RECIPE,
            THREADS,
            SUMMARY,
        ],
    },
    Page {
        command: "store remove",
        uses: &[
            ("hamdex store remove news.store pairs.txt", "remove fingerprints and ids"),
            ("hamdex store remove news.store --ids only users.txt", "remove all of an id"),
            ("hamdex store remove articles.store withdrawn.txt", "remove by name"),
        ],
        options: &[
            ("ids", "Read records as: pairs, none (fingerprints), only (ids) or names"),
            FORMAT,
            FINGERPRINT_FIELD,
            ID_FIELD,
            ("null", "Read names that end in a zero byte, as `find -print0` writes them"),
            SUMMARY,
        ],
    },
    Page {
        command: "store flush",
        uses: &[
            ("hamdex store flush news.store", "write the memtable to a segment"),
            ("hamdex store flush news.store --json", "print the outcome for programs"),
        ],
        options: &[OUTCOME],
    },
    Page {
        command: "store compact",
        uses: &[
            ("hamdex store compact news.store", "merge all segments, drop tombstones"),
            ("hamdex store compact news.store --json", "print the outcome for programs"),
        ],
        options: &[OUTCOME],
    },
    Page {
        command: "store purge",
        uses: &[
            ("hamdex store purge news.store", "erase removed records from the disk"),
            ("hamdex store purge news.store --json", "print the outcome for programs"),
        ],
        options: &[OUTCOME],
    },
    Page {
        command: "store backup",
        uses: &[
            ("hamdex store backup news.store /backup/news.store", "copy a store"),
            ("hamdex store backup -q news.store /backup/news.store", "print errors only"),
        ],
        options: &[],
    },
    Page {
        command: "store checkpoint",
        uses: &[
            ("hamdex store checkpoint news.store before.store", "link a store's files"),
            ("hamdex store checkpoint -q news.store before.store", "print errors only"),
        ],
        options: &[],
    },
    Page {
        command: "store ingest",
        uses: &[
            ("hamdex store ingest news.store monday.hamdex", "add an index file"),
            ("hamdex store ingest news.store monday.hamdex tuesday.hamdex", "add two"),
        ],
        options: &[],
    },
    Page {
        command: "store stats",
        uses: &[
            ("hamdex store stats news.store", "show counts and health"),
            ("hamdex store stats news.store --exact", "count without upper bounds"),
        ],
        options: &[
            ("exact", "Count exactly; this can read the whole store"),
            ("json", "Print a JSON object"),
        ],
    },
    Page {
        command: "store repair",
        uses: &[
            ("hamdex verify news.store", "find out whether a store is damaged"),
            ("hamdex store repair news.store", "save all readable records"),
        ],
        options: &[OUTCOME],
    },
    Page {
        command: "shards",
        uses: &[
            ("hamdex shards create web.shards monday.hamdex tuesday.hamdex", "make a set"),
            ("hamdex shards add web.shards wednesday.hamdex", "add a file"),
            ("hamdex query web.shards 0123456789abcdef", "query the set"),
        ],
        options: &[],
    },
    Page {
        command: "shards create",
        uses: &[
            ("hamdex shards create web.shards monday.hamdex tuesday.hamdex", "make a set"),
            ("hamdex shards create --force web.shards monday.hamdex", "replace a set"),
        ],
        options: &[THREADS, ("json", "Print the state of the set as a JSON object"), FORCE],
    },
    Page {
        command: "shards add",
        uses: &[
            ("hamdex shards add web.shards wednesday.hamdex", "add a file"),
            ("hamdex shards add web.shards thursday.hamdex friday.hamdex", "add two files"),
        ],
        options: &[THREADS, ("json", "Print the state of the set as a JSON object")],
    },
    Page {
        command: "serve",
        uses: &[
            ("hamdex serve news.hamdex pages.store", "serve sets to this machine"),
            ("hamdex serve --data /var/lib/hamdex", "serve all sets of a directory"),
            ("hamdex serve --config /etc/hamdex/serve.toml", "read options from a file"),
        ],
        options: &[
            ("PATH", "Serve these index files, stores and sets of shards"),
            ("data", "Serve all sets of this directory, and create stores in it"),
            ("listen", "Listen on this address [default: 127.0.0.1:7700]"),
            ("read-only", "Open stores for reading, without their lock"),
            ("in-memory", "Read files into memory instead of mapping them"),
            ("token-file", "Allow everything with the bearer tokens of this file"),
            ("read-token-file", "Allow reading with the bearer tokens of this file"),
            ("insecure", "Allow other machines without tokens"),
            ("tls-cert", "Use this certificate chain for TLS, as PEM"),
            ("tls-key", "Use this private key for TLS, as PEM"),
            ("max-distance", "Limit the distance of a query [default: 8]"),
            ("max-batch", "Limit the queries or records of a request [default: 100000]"),
            ("timeout", "Limit the time of a request [default: 30s]"),
            ("threads", "Use N threads for queries [default: one per processor]"),
            ("backups", "Write backups to this directory"),
            ("log", "Log as text or json [default: text]"),
            ("log-level", "Log lines from this level: error, warn, info or debug [default: info]"),
            ("config", "Read options from this TOML file"),
        ],
    },
    Page {
        command: "demo",
        uses: &[
            ("hamdex demo", "measure a million fingerprints with each codec"),
            ("hamdex demo --count 10000000 --codec elias-fano", "measure ten million"),
        ],
        options: &[
            ("count", "Make N fingerprints [default: 1000000]"),
            WITHIN,
            DESIGN,
            CODEC,
            FILTER,
            ("temp-dir", "Keep the index in this directory meanwhile"),
            THREADS,
            ("json", "Print a JSON array with an object per codec"),
        ],
    },
    Page {
        command: "completions",
        uses: &[
            ("hamdex completions bash > ~/.local/share/bash-completion/completions/hamdex", ""),
            ("hamdex completions zsh > ~/.zfunc/_hamdex", ""),
            ("hamdex completions fish > ~/.config/fish/completions/hamdex.fish", ""),
        ],
        options: &[],
    },
    Page {
        command: "man",
        uses: &[
            ("hamdex man | man -l -", "read the manual page of hamdex"),
            ("hamdex man ~/.local/share/man/man1", "write the pages of all commands"),
        ],
        options: &[("DIR", "Write a page for each command to this directory"), FORCE],
    },
];
