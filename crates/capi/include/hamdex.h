/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * hamdex: exact near-duplicate search of fingerprints of 64 and 128 bits. docs/c.md is a guide of five minutes.
 *
 * Fingerprints are bytes, the most significant first, as in the hexadecimal text that the command prints:
 * 0123456789abcdef is the bytes 01 23 45 67 89 ab cd ef. hamdex_u64_to_bytes and hamdex_u64_of_bytes convert numbers.
 * Texts are a pointer and a length in bytes, in UTF-8, and need no zero byte behind them. Paths are such texts, or
 * on Unix any bytes.
 *
 * Every function that can fail returns HAMDEX_OK, which is 0, or the kind of the failure. Its last parameter, which may
 * be null, takes an error with a message: null after a success, otherwise an object that hamdex_error_free frees.
 *
 * Sets, searchers, stores, matches and errors are made by the library, and closed or freed by the function that their
 * documentation names, once. Null, misaligned and closed ones are refused with HAMDEX_MISUSE, as is a pointer to an
 * object of another type; any other pointer is the caller's to get right. That a pointer is closed is known until some
 * thousand objects of its type have been closed after it.
 *
 * Structures that begin with `size` may get further fields. The caller sets `size` to their size, so that a program
 * and a library of different versions understand each other; fields that are zero have their defaults.
 *
 * After a fork, the child opens its own objects. This file is written from the sources of crates/capi.
 */


#ifndef HAMDEX_H
#define HAMDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Writes the bytes of a fingerprint of 64 bits. */
static inline void hamdex_u64_to_bytes(uint64_t fingerprint, uint8_t bytes[8])
{
    for (int i = 0; i < 8; i++) {
        bytes[i] = (uint8_t)(fingerprint >> (56 - 8 * i));
    }
}

/** Returns the fingerprint of 64 bits that these bytes are. */
static inline uint64_t hamdex_u64_of_bytes(const uint8_t bytes[8])
{
    uint64_t fingerprint = 0;
    for (int i = 0; i < 8; i++) {
        fingerprint = fingerprint << 8 | bytes[i];
    }
    return fingerprint;
}


/**
 * The version of the functions and structures of this header. It grows when a function is removed, or a function
 * or structure changes so that earlier programs no longer fit; not for new functions, and new fields at the end of a
 * structure with a `size`.
 */
#define HAMDEX_ABI_VERSION 2

/**
 * The set is an index file.
 */
#define HAMDEX_FILE 1

/**
 * The set is the directory of a store, as it was at one moment.
 */
#define HAMDEX_STORE 2

/**
 * The set is the directory of a set of shards.
 */
#define HAMDEX_SHARDS 3

/**
 * Compare by resemblance: the similarity is the share of the shingles that two documents have in common, of all of
 * theirs.
 */
#define HAMDEX_RESEMBLANCE 0

/**
 * Compare by containment: the similarity is the share of the shingles of the query that a stored document has.
 */
#define HAMDEX_CONTAINING 1

/**
 * Compare by containment: the similarity is the share of the shingles of a stored document that the query has.
 */
#define HAMDEX_CONTAINED 2

/**
 * Replace an existing file: for `hamdex_build`.
 */
#define HAMDEX_OVERWRITE 1

/**
 * Do not merge files in the background: for `hamdex_store_options`, as well as `HAMDEX_IN_MEMORY`.
 */
#define HAMDEX_NO_MERGES 2

/**
 * Fingerprints have ids, which the caller gives: for `hamdex_create_options`.
 */
#define HAMDEX_WITH_IDS 1

/**
 * Fingerprints have names; the store gives each an id: for `hamdex_create_options`.
 */
#define HAMDEX_WITH_NAMES 2

/**
 * Ids, and names, lead to their fingerprints without a pass over the store, so that records can be replaced: for
 * `hamdex_create_options`, with `HAMDEX_WITH_IDS` or `HAMDEX_WITH_NAMES`.
 */
#define HAMDEX_WITH_LOOKUPS 4

/**
 * Read files into memory, in huge pages if the system has them, instead of mapping them: for `hamdex_open` and
 * `hamdex_store_options`.
 */
#define HAMDEX_IN_MEMORY 1

/**
 * Expect the files to be larger than memory, and read from them only what queries need: for `hamdex_open`.
 */
#define HAMDEX_LARGER_THAN_MEMORY 2

/**
 * Leave keys and filters in the mapped file, where all processes that map it share them, instead of copying them: for
 * `hamdex_open`.
 */
#define HAMDEX_MAP_KEYS 4

/**
 * Return the first ids of each match, 10 unless another limit is set, and the number of all: for queries.
 */
#define HAMDEX_IDS 1

/**
 * Return the first ids of each match as for `HAMDEX_IDS`, and their names: for queries.
 */
#define HAMDEX_NAMES 2

/**
 * No limit of ids, for `hamdex_searcher_set_ids_limit` and `hamdex_work`.
 */
#define HAMDEX_ALL_IDS UINT64_MAX

/**
 * A searcher of a set, with memory that its queries use again and again: one per thread. Its matches are its own, and
 * those of its last query only.
 */
typedef struct hamdex_searcher hamdex_searcher;

/**
 * An open set: an index file, a set of shards, or a store as it was at one moment. Any number of threads may use it at
 * once. It never changes.
 */
typedef struct hamdex_set hamdex_set;

/**
 * A store that is open for writing: a durable set that grows and shrinks. Any number of threads may use it at once;
 * one process at a time has it open. After a fork, the child must open it again.
 */
typedef struct hamdex_store hamdex_store;

/**
 * The outcome of a call: `HAMDEX_OK`, or the kind of its failure. Later versions may have further kinds.
 */
typedef int32_t hamdex_status;

/**
 * The failure of a call. The library writes it, and `hamdex_error_free` frees it.
 */
typedef struct hamdex_error {
    /**
     * The kind, as the function returned it.
     */
    hamdex_status status;
    /**
     * The number of the error of the operating system (`errno`, or that of Windows); 0 if there is none.
     */
    int32_t os_code;
    /**
     * The cause, and often the remedy: one line in UTF-8 with a zero byte behind it.
     */
    const char *message;
    /**
     * Its length, in bytes, without the zero byte.
     */
    uint64_t message_length;
} hamdex_error;

/**
 * The properties of a set. Its texts are those of the set, and gone when that is closed.
 */
typedef struct hamdex_description {
    /**
     * `sizeof(hamdex_description)`, set by the caller.
     */
    size_t size;
    /**
     * `HAMDEX_FILE`, `HAMDEX_STORE`, `HAMDEX_SHARDS`, or another number in later versions.
     */
    uint32_t kind;
    /**
     * The width of the fingerprints, in bits: eight times their bytes.
     */
    uint32_t width;
    /**
     * The greatest distance, in bits, for which the set is made. Queries beyond it are as exact, and take longer.
     */
    uint32_t distance;
    /**
     * Whether `fingerprints` is exact. It is not if a fingerprint may be in several files.
     */
    bool is_counted;
    /**
     * Whether fingerprints have ids.
     */
    bool has_ids;
    /**
     * Whether ids have names.
     */
    bool has_names;
    /**
     * Zero.
     */
    uint8_t reserved;
    /**
     * The number of fingerprints; at most, unless `is_counted`.
     */
    uint64_t fingerprints;
    /**
     * The name of the design, in UTF-8; null if parts of the set may differ in it.
     */
    const char *design;
    /**
     * Its length, in bytes.
     */
    uint64_t design_length;
    /**
     * The name of the codec, in UTF-8; null if parts of the set may differ in it.
     */
    const char *codec;
    /**
     * Its length, in bytes.
     */
    uint64_t codec_length;
} hamdex_description;

/**
 * Receives the progress of long work: units done, and how many there are, or 0 if that is unknown. Any thread may call
 * it, several at a time. It returns 0 to go on; anything else stops the work, which then fails with `HAMDEX_STOPPED`.
 * It must not throw, and must not close what the work uses.
 */
typedef int (*hamdex_progress)(void *context,
                               uint64_t done,
                               uint64_t total);

/**
 * Options of long work. All zero but `size` are the defaults, as is a null pointer to them.
 */
typedef struct hamdex_work {
    /**
     * `sizeof(hamdex_work)`.
     */
    size_t size;
    /**
     * The memory limit, in bytes; 0 for the default.
     */
    uint64_t memory;
    /**
     * The most threads; 0 for one per processor.
     */
    uint32_t threads;
    /**
     * Zero.
     */
    uint32_t reserved;
    /**
     * A callback, or null.
     */
    hamdex_progress progress;
    /**
     * Its context.
     */
    void *context;
    /**
     * The most ids of each match of a batch; 0 for 10, `HAMDEX_ALL_IDS` for all.
     */
    uint64_t ids_limit;
} hamdex_work;

/**
 * The answers to one query or several, in columns. Everything in it belongs to the library and is read only.
 *
 * The matches of query q are those from `query_starts[q]` up to `query_starts[q + 1]`, nearest first, then by
 * fingerprint. If ids were requested, the first ones of match m, ascending, are those from `id_starts[m]` up to
 * `id_starts[m + 1]`, of `id_counts[m]` that it has; if names were, that of id i are the bytes of `names` from
 * `name_starts[i]` up to `name_starts[i + 1]`.
 */
typedef struct hamdex_matches {
    /**
     * The number of queries.
     */
    uint64_t queries;
    /**
     * The number of matches.
     */
    uint64_t count;
    /**
     * The number of ids in `ids`.
     */
    uint64_t ids_count;
    /**
     * Where the matches of each query begin, and where those of the last end: `queries` + 1 numbers.
     */
    const uint64_t *query_starts;
    /**
     * The fingerprints of the matches, `fingerprint_bytes` bytes each, the most significant first.
     */
    const uint8_t *fingerprints;
    /**
     * The Hamming distance of each match to its query.
     */
    const uint32_t *distances;
    /**
     * Where the ids of each match begin, and where those of the last end: `count` + 1 numbers; null if no ids were
     * requested.
     */
    const uint64_t *id_starts;
    /**
     * The number of all ids of each match, also of those beyond the limit of ids: `count` numbers; null if no ids were
     * requested.
     */
    const uint64_t *id_counts;
    /**
     * The ids.
     */
    const uint64_t *ids;
    /**
     * The number of the part of the set that each id is stored in: of a shard; 0 in a set of one part. Parts of which
     * ids have names number their ids independently.
     */
    const uint32_t *parts;
    /**
     * Where the name of each id begins, and where the last ends: `ids_count` + 1 numbers; null if no names were
     * requested. Without names in the set, all are empty.
     */
    const uint64_t *name_starts;
    /**
     * The names.
     */
    const char *names;
    /**
     * The bytes of a fingerprint.
     */
    uint32_t fingerprint_bytes;
    /**
     * Zero.
     */
    uint32_t reserved;
} hamdex_matches;

/**
 * The documents that are similar to one query or several, in columns. Everything in it belongs to the library and is
 * read only.
 *
 * Those of query q are the ones from `query_starts[q]` up to `query_starts[q + 1]`, the most similar first, then by id.
 * If names were requested, the name of document d is the bytes of `names` from `name_starts[d]` up to
 * `name_starts[d + 1]`.
 */
typedef struct hamdex_similar {
    /**
     * The number of queries.
     */
    uint64_t queries;
    /**
     * The number of documents.
     */
    uint64_t count;
    /**
     * Where the documents of each query begin, and where those of the last end: `queries` + 1 numbers.
     */
    const uint64_t *query_starts;
    /**
     * The ids of the documents.
     */
    const uint64_t *ids;
    /**
     * The number of the part of the set that each document is stored in: of a shard; 0 in a set of one part.
     */
    const uint32_t *parts;
    /**
     * How similar each document is to its query, by the measure of the query: above 0, at most 1.
     */
    const double *similarities;
    /**
     * Where the name of each document begins, and where the last ends: `count` + 1 numbers; null if no names were
     * requested. Without names in the set, all are empty.
     */
    const uint64_t *name_starts;
    /**
     * The names.
     */
    const char *names;
} hamdex_similar;

/**
 * Receives `count` pairs of near fingerprints: fingerprint i of `left` and of `right` are `distances[i]` bits apart.
 * The arrays are the library's, and gone when it returns. It returns 0 to go on; anything else stops the work, which
 * then fails with `HAMDEX_STOPPED`. It is called by the thread that asked for the pairs. It must not throw.
 */
typedef int (*hamdex_on_pairs)(void *context,
                               const uint8_t *left,
                               const uint8_t *right,
                               const uint32_t *distances,
                               uint64_t count);

/**
 * Fingerprints, an id or a name of each, and perhaps its shingles. The arrays are the caller's, and are read during the call only.
 */
typedef struct hamdex_records {
    /**
     * `sizeof(hamdex_records)`.
     */
    size_t size;
    /**
     * The number of fingerprints.
     */
    uint64_t count;
    /**
     * The fingerprints, one behind the other, of `fingerprint_bytes` bytes each, the most significant first.
     */
    const uint8_t *fingerprints;
    /**
     * The bytes of a fingerprint: 8 or 16.
     */
    uint32_t fingerprint_bytes;
    /**
     * Zero.
     */
    uint32_t reserved;
    /**
     * An id of each fingerprint; null if they have none, or have names.
     */
    const uint64_t *ids;
    /**
     * The names, one behind the other; null if there are none.
     */
    const char *names;
    /**
     * Where each name begins in `names`, followed by the end of the last one: `count` + 1 numbers that begin with 0;
     * null if there are no names.
     */
    const uint64_t *name_starts;
    /**
     * The shingles of the documents, one set behind the other; null if there are none. Those of a document are hashes of
     * 48 bits, ascending, each once.
     */
    const uint64_t *shingles;
    /**
     * Where the shingles of each document begin in `shingles`, followed by the end of the last ones: `count` + 1 numbers
     * that begin with 0; null if the documents have no shingles. For a set that keeps shingles.
     */
    const uint64_t *shingle_starts;
} hamdex_records;

/**
 * Options of an index file. All zero but `size` are the defaults, as is a null pointer to them.
 */
typedef struct hamdex_build_options {
    /**
     * `sizeof(hamdex_build_options)`.
     */
    size_t size;
    /**
     * The distance of most queries, in bits; 0 for the default, 3. Any other is answered exactly, too.
     */
    uint32_t distance;
    /**
     * `HAMDEX_OVERWRITE`, or 0.
     */
    uint32_t flags;
    /**
     * The name of a design, such as "halves"; null for the one that suits the number of fingerprints.
     */
    const char *design;
    /**
     * Its length, in bytes.
     */
    size_t design_length;
    /**
     * The name of a codec: "huffman" for size, "elias-fano" for speed; null for the default.
     */
    const char *codec;
    /**
     * Its length, in bytes.
     */
    size_t codec_length;
    /**
     * The filters, which spare queries blocks: "auto", where they pay; "none"; or the most bits per fingerprint, "1"
     * to "64"; null for the default, "auto".
     */
    const char *filter;
    /**
     * Its length, in bytes.
     */
    size_t filter_length;
    /**
     * How the shingles of the records are made, in words of the caller's own; null for records without shingles. Sets are
     * compared only if they say the same; it is the metadata "hamdex.shingles".
     */
    const char *shingles;
    /**
     * Its length, in bytes.
     */
    size_t shingles_length;
} hamdex_build_options;

/**
 * Options of a new store, which are fixed from then on. All zero but `size` are the defaults, as is a null pointer to
 * them: 64 bits, no ids.
 */
typedef struct hamdex_create_options {
    /**
     * `sizeof(hamdex_create_options)`.
     */
    size_t size;
    /**
     * The width of fingerprints, in bits: 64 or 128; 0 for 64.
     */
    uint32_t width;
    /**
     * The distance of most queries, in bits; 0 for the default, 3. Any other is answered exactly, too.
     */
    uint32_t distance;
    /**
     * `HAMDEX_WITH_IDS` or `HAMDEX_WITH_NAMES`, either with `HAMDEX_WITH_LOOKUPS`; or 0.
     */
    uint32_t flags;
    /**
     * Zero.
     */
    uint32_t reserved;
    /**
     * The name of a design; null for the default.
     */
    const char *design;
    /**
     * Its length, in bytes.
     */
    size_t design_length;
    /**
     * The name of a codec: "huffman" or "elias-fano"; null for the default.
     */
    const char *codec;
    /**
     * Its length, in bytes.
     */
    size_t codec_length;
    /**
     * The filters, which spare queries blocks: "auto", where they pay; "none"; or the most bits per fingerprint, "1"
     * to "64"; null for the default, "auto".
     */
    const char *filter;
    /**
     * Its length, in bytes.
     */
    size_t filter_length;
    /**
     * How the shingles of documents are made, in words of the caller's own; null for a store without shingles. With
     * shingles there are names, whether or not `HAMDEX_WITH_NAMES` is set. Sets are compared only if they say the same;
     * it is the metadata "hamdex.shingles".
     */
    const char *shingles;
    /**
     * Its length, in bytes.
     */
    size_t shingles_length;
} hamdex_create_options;

/**
 * Options of an open store. All zero but `size` are the defaults, as is a null pointer to them.
 */
typedef struct hamdex_store_options {
    /**
     * `sizeof(hamdex_store_options)`.
     */
    size_t size;
    /**
     * The memory for recent writes, in bytes: at most 8 GiB, and more counts as that; 0 for the default.
     */
    uint64_t memory;
    /**
     * The most threads of a flush or merge; 0 for one per processor.
     */
    uint32_t threads;
    /**
     * `HAMDEX_IN_MEMORY`, `HAMDEX_NO_MERGES`, both, or 0.
     */
    uint32_t flags;
    /**
     * When a write is durable: "sync", when it returns, which is the default; "interval=100ms", at the latest after
     * that time; "none", when it is flushed. Null for the default.
     */
    const char *durability;
    /**
     * Its length, in bytes.
     */
    size_t durability_length;
} hamdex_store_options;

/**
 * Counts and costs of a store.
 */
typedef struct hamdex_store_stats {
    /**
     * `sizeof(hamdex_store_stats)`, set by the caller.
     */
    size_t size;
    /**
     * Fingerprints: an upper bound, exact if `is_exact`.
     */
    uint64_t fingerprints;
    /**
     * Pairs of fingerprint and id: an upper bound, exact if `is_exact`. 0 in a store without ids.
     */
    uint64_t ids;
    /**
     * Files of the store with fingerprints.
     */
    uint64_t segments;
    /**
     * Their bytes.
     */
    uint64_t bytes;
    /**
     * Pairs in memory, which the log holds as well.
     */
    uint64_t recent;
    /**
     * Their bytes.
     */
    uint64_t recent_bytes;
    /**
     * Removed pairs that files still hold.
     */
    uint64_t removed;
    /**
     * The number of the last batch of writes.
     */
    uint64_t sequence;
    /**
     * Bytes written per byte that was added; 0 before the first flush.
     */
    double write_amplification;
    /**
     * Whether `fingerprints` and `ids` are exact.
     */
    bool is_exact;
    /**
     * Zero.
     */
    uint8_t reserved[7];
} hamdex_store_stats;

/**
 * The call succeeded.
 */
#define HAMDEX_OK 0

/**
 * An argument or option is wrong, or contradicts another.
 */
#define HAMDEX_USAGE 1

/**
 * The data that was given cannot be taken: fingerprints of another width, ids for a set without ids.
 */
#define HAMDEX_INPUT 2

/**
 * Something has the name of the output already.
 */
#define HAMDEX_EXISTS 3

/**
 * The bytes are not hamdex's, or of a version that this library cannot read.
 */
#define HAMDEX_FORMAT 4

/**
 * Some bytes differ from the bytes written, or a file is missing.
 */
#define HAMDEX_DAMAGED 5

/**
 * The system refuses memory.
 */
#define HAMDEX_MEMORY 6

/**
 * The operating system refuses something else: see `os_code` of the error.
 */
#define HAMDEX_SYSTEM 7

/**
 * The store or set cannot be used now: it is in use, closed, busy or full.
 */
#define HAMDEX_UNAVAILABLE 8

/**
 * The output is complete and in place, and may be lost in a crash of the system.
 */
#define HAMDEX_NOT_DURABLE 9

/**
 * A callback stopped the work.
 */
#define HAMDEX_STOPPED 10

/**
 * A pointer cannot be right: it is null, misaligned, or a handle that is closed, of another type, or in use by another
 * call. Nothing was done.
 */
#define HAMDEX_MISUSE 11

/**
 * An error in the library itself. The handle of the call can only be closed.
 */
#define HAMDEX_INTERNAL 12

/**
 * A failure of another kind.
 */
#define HAMDEX_OTHER 13

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * Returns the version of the interface of the library that was loaded. A program that was compiled with another
 * `HAMDEX_ABI_VERSION` must not use it.
 *
 * Threads: any, at any time.
 */
uint32_t hamdex_abi_version(void);

/**
 * Returns the version of the library, such as "0.1.0": text in UTF-8 with a zero byte behind it, which is never freed.
 *
 * Threads: any, at any time.
 */
const char *hamdex_version(void);

/**
 * Frees an error. Null is allowed.
 *
 * Threads: any. No other call may use the error meanwhile.
 *
 * Errors: `HAMDEX_MISUSE` if it is not an error, or was freed already.
 */
hamdex_status hamdex_error_free(struct hamdex_error *error);

/**
 * Opens whatever a path names: an index file, a set of shards, or a store as it is now, of fingerprints of any width.
 * `flags` are 0, or of `HAMDEX_IN_MEMORY`, `HAMDEX_LARGER_THAN_MEMORY` and `HAMDEX_MAP_KEYS`.
 *
 * Files are mapped: they must not be changed in place while the set is open. hamdex never does that.
 *
 * Ownership: `*set` is the caller's, who closes it with `hamdex_set_close`; it is null after a failure.
 *
 * Threads: any.
 *
 * Errors: `HAMDEX_SYSTEM` if there is no such file, `HAMDEX_FORMAT` if it is not a file of hamdex, `HAMDEX_DAMAGED`,
 * `HAMDEX_USAGE` for unknown flags, `HAMDEX_MISUSE`.
 */
hamdex_status hamdex_open(const char *path,
                          size_t path_length,
                          uint32_t flags,
                          struct hamdex_set **set,
                          struct hamdex_error **error);

/**
 * Closes a set. Null is allowed. Searchers of the set stay open, and keep its files.
 *
 * Threads: any. Calls of other threads that use the set meanwhile end normally.
 *
 * Errors: `HAMDEX_MISUSE` if it is not a set, or was closed.
 */
hamdex_status hamdex_set_close(struct hamdex_set *set);

/**
 * Fills in the properties of a set. The caller sets `description->size` before.
 *
 * Ownership: the texts are those of the set, until it is closed.
 *
 * Threads: any.
 *
 * Errors: `HAMDEX_USAGE` for a wrong size, `HAMDEX_MISUSE`.
 */
hamdex_status hamdex_set_describe(const struct hamdex_set *set,
                                  struct hamdex_description *description,
                                  struct hamdex_error **error);

/**
 * Finds a value in the metadata of a set, such as "hamdex.recipe", which says how fingerprints were made of texts.
 * `*value` is null if no entry has that name.
 *
 * Ownership: the value is that of the set, until it is closed.
 *
 * Threads: any.
 *
 * Errors: `HAMDEX_USAGE` if the name is not UTF-8, `HAMDEX_MISUSE`.
 */
hamdex_status hamdex_set_metadata(const struct hamdex_set *set,
                                  const char *name,
                                  size_t name_length,
                                  const uint8_t **value,
                                  uint64_t *value_length,
                                  struct hamdex_error **error);

/**
 * Reads a whole set and checks everything. `work` may be null.
 *
 * Threads: any; it uses several.
 *
 * Errors: `HAMDEX_DAMAGED` with the first damage, `HAMDEX_STOPPED`, `HAMDEX_SYSTEM`, `HAMDEX_USAGE`, `HAMDEX_MISUSE`.
 */
hamdex_status hamdex_set_verify(const struct hamdex_set *set,
                                const struct hamdex_work *work,
                                struct hamdex_error **error);

/**
 * Frees matches. Null is allowed. The matches of a searcher are refused: the searcher frees them.
 *
 * Threads: any. No other call may use the matches meanwhile.
 *
 * Errors: `HAMDEX_MISUSE` if they are no matches, were freed already, or belong to a searcher.
 */
hamdex_status hamdex_matches_free(const struct hamdex_matches *matches);

/**
 * Opens a searcher of a set.
 *
 * Ownership: `*searcher` is the caller's, who closes it with `hamdex_searcher_close`. It keeps the set open even if
 * that is closed.
 *
 * Threads: any.
 *
 * Errors: `HAMDEX_MISUSE`.
 */
hamdex_status hamdex_searcher_open(const struct hamdex_set *set,
                                   struct hamdex_searcher **searcher,
                                   struct hamdex_error **error);

/**
 * Closes a searcher and frees its matches. Null is allowed.
 *
 * Threads: any. No other call may use the searcher or its matches meanwhile.
 *
 * Errors: `HAMDEX_MISUSE` if it is not a searcher, is closed already, or answers a query now, as in the callback of
 * one: it then stays open.
 */
hamdex_status hamdex_searcher_close(struct hamdex_searcher *searcher);

/**
 * Finds the fingerprints within `distance` bits of a query: the `limit` nearest, or all if `limit` is 0. `query` has
 * as many bytes as the fingerprints of the set. `flags` are 0, or of `HAMDEX_IDS` and `HAMDEX_NAMES`.
 *
 * Ownership: `*matches` belong to the searcher, until its next call; they are not freed.
 *
 * Threads: any, one at a time with a searcher.
 *
 * Errors: `HAMDEX_INPUT` for a query of another width, `HAMDEX_DAMAGED`, `HAMDEX_STOPPED`, `HAMDEX_MEMORY`,
 * `HAMDEX_SYSTEM`, `HAMDEX_USAGE` for a distance of more bits than fingerprints have, `HAMDEX_MISUSE`; `*matches` is
 * null then.
 */
hamdex_status hamdex_searcher_query(struct hamdex_searcher *searcher,
                                    const uint8_t *query,
                                    size_t query_bytes,
                                    uint32_t distance,
                                    uint64_t limit,
                                    uint32_t flags,
                                    const struct hamdex_matches **matches,
                                    struct hamdex_error **error);

/**
 * Finds the `count` nearest fingerprints, however far they are.
 *
 * Ownership, threads and errors: as for `hamdex_searcher_query`.
 */
hamdex_status hamdex_searcher_nearest(struct hamdex_searcher *searcher,
                                      const uint8_t *query,
                                      size_t query_bytes,
                                      uint64_t count,
                                      uint32_t flags,
                                      const struct hamdex_matches **matches,
                                      struct hamdex_error **error);

/**
 * Finds any fingerprint within `distance` bits of a query, not always the nearest: one match, or none. This is the
 * fastest way to ask whether there is one.
 *
 * Ownership, threads and errors: as for `hamdex_searcher_query`.
 */
hamdex_status hamdex_searcher_first(struct hamdex_searcher *searcher,
                                    const uint8_t *query,
                                    size_t query_bytes,
                                    uint32_t distance,
                                    uint32_t flags,
                                    const struct hamdex_matches **matches,
                                    struct hamdex_error **error);

/**
 * Finds the documents that are similar to a set of `count` shingles, the most similar first, then by id: the `limit`
 * first, or all if `limit` is 0. None is missed. They are the ones of which the similarity, by a measure that is
 * `HAMDEX_RESEMBLANCE`, `HAMDEX_CONTAINING` or `HAMDEX_CONTAINED`, is at least `least`: above 0, at most 1. Shingles are
 * hashes of 48 bits, ascending, each once, made as the metadata "hamdex.shingles" of the set says. Nothing is similar to
 * none. `flags` are 0, or `HAMDEX_NAMES`.
 *
 * Ownership: `*similar` belong to the searcher, until its next call; they are not freed.
 *
 * Threads: any, one at a time with a searcher.
 *
 * Errors: `HAMDEX_INPUT` for a set without shingles and for shingles that do not ascend or have more bits,
 * `HAMDEX_DAMAGED`, `HAMDEX_STOPPED`, `HAMDEX_MEMORY`, `HAMDEX_SYSTEM`, `HAMDEX_USAGE` for another measure or share,
 * `HAMDEX_MISUSE`; `*similar` is null then.
 */
hamdex_status hamdex_searcher_similar(struct hamdex_searcher *searcher,
                                      const uint64_t *shingles,
                                      uint64_t count,
                                      uint32_t measure,
                                      double least,
                                      uint64_t limit,
                                      uint32_t flags,
                                      const struct hamdex_similar **similar,
                                      struct hamdex_error **error);

/**
 * Sets the most ids that each match has from now on; 0 for 10, `HAMDEX_ALL_IDS` for all. `id_counts` of the matches has
 * the numbers of all. A fingerprint may have very many ids, and each answer takes memory for each of its ids.
 *
 * Threads: any, one at a time with a searcher.
 *
 * Errors: `HAMDEX_MISUSE`.
 */
hamdex_status hamdex_searcher_set_ids_limit(struct hamdex_searcher *searcher,
                                            uint64_t ids_limit,
                                            struct hamdex_error **error);

/**
 * Sets a callback for queries that read many blocks, such as those at a great distance, which may stop them. Null
 * removes it.
 *
 * Threads: any, one at a time with a searcher. The callback is called by the thread that queries.
 *
 * Errors: `HAMDEX_MISUSE`.
 */
hamdex_status hamdex_searcher_set_progress(struct hamdex_searcher *searcher,
                                           hamdex_progress progress,
                                           void *context,
                                           struct hamdex_error **error);

/**
 * Finds the fingerprints of ids: of the id number i, the matches of query i, ascending, all at the distance 0. In a
 * store without look-ups (`HAMDEX_WITH_LOOKUPS`) it reads the whole store once.
 *
 * Ownership: `*found` are the caller's, who frees them with `hamdex_matches_free`.
 *
 * Threads: any.
 *
 * Errors: `HAMDEX_INPUT` in a store without ids, `HAMDEX_DAMAGED`, `HAMDEX_MEMORY`, `HAMDEX_USAGE`, `HAMDEX_MISUSE`;
 * `*found` is null then.
 */
hamdex_status hamdex_store_find_ids(const struct hamdex_store *store,
                                    const uint64_t *ids,
                                    uint64_t count,
                                    const struct hamdex_matches **found,
                                    struct hamdex_error **error);

/**
 * Finds the fingerprints of `count` names, which are given as in `hamdex_records`: of the name number i, the matches of
 * query i, ascending, all at the distance 0. In a store without look-ups (`HAMDEX_WITH_LOOKUPS`) it reads all names
 * and the whole store once.
 *
 * Ownership: `*found` are the caller's, who frees them with `hamdex_matches_free`.
 *
 * Threads: any.
 *
 * Errors: `HAMDEX_INPUT` in a store without names; otherwise as for `hamdex_store_find_ids`.
 */
hamdex_status hamdex_store_find_names(const struct hamdex_store *store,
                                      const char *names,
                                      const uint64_t *name_starts,
                                      uint64_t count,
                                      const struct hamdex_matches **found,
                                      struct hamdex_error **error);

/**
 * Frees similar documents. Null is allowed. The ones of a searcher are refused: the searcher frees them.
 *
 * Threads: any. No other call may use them meanwhile.
 *
 * Errors: `HAMDEX_MISUSE` if they are no similar documents, were freed already, or belong to a searcher.
 */
hamdex_status hamdex_similar_free(const struct hamdex_similar *similar);

/**
 * Answers many queries together, which is several times as fast as one after the other: for each of `count` queries
 * the fingerprints within `distance` bits, the `limit` nearest, or all if `limit` is 0. `queries` has `query_bytes`
 * bytes per query, as many as the fingerprints of the set. `flags` are 0, or of `HAMDEX_IDS` and `HAMDEX_NAMES`.
 * `work` may be null; its `ids_limit` is that of each match.
 *
 * Ownership: `*matches` are the caller's, who frees them with `hamdex_matches_free`.
 *
 * Threads: any; it uses several.
 *
 * Errors: `HAMDEX_INPUT` for queries of another width, `HAMDEX_DAMAGED`, `HAMDEX_STOPPED`, `HAMDEX_MEMORY`,
 * `HAMDEX_SYSTEM`, `HAMDEX_USAGE`, `HAMDEX_MISUSE`; `*matches` is null then.
 */
hamdex_status hamdex_set_batch(const struct hamdex_set *set,
                               const uint8_t *queries,
                               size_t query_bytes,
                               uint64_t count,
                               uint32_t distance,
                               uint64_t limit,
                               uint32_t flags,
                               const struct hamdex_work *work,
                               const struct hamdex_matches **matches,
                               struct hamdex_error **error);

/**
 * Calls `on_pairs` with all pairs of different fingerprints of a set within `distance` bits of each other, each pair
 * once, the lower fingerprint on the left, some thousands at a time. `work` may be null.
 *
 * Ownership: the arrays that `on_pairs` gets are the library's, until it returns. Within it, other calls with the set
 * are allowed.
 *
 * Threads: any; it uses several. `on_pairs` is called by this thread.
 *
 * Errors: `HAMDEX_STOPPED` if a callback stopped it, `HAMDEX_DAMAGED`, `HAMDEX_MEMORY`, `HAMDEX_SYSTEM`,
 * `HAMDEX_USAGE`, `HAMDEX_MISUSE`.
 */
hamdex_status hamdex_set_pairs(const struct hamdex_set *set,
                               uint32_t distance,
                               const struct hamdex_work *work,
                               hamdex_on_pairs on_pairs,
                               void *context,
                               struct hamdex_error **error);

/**
 * Builds an index file of fingerprints, in any order, with ids, with names, or without; with shingles, if the records
 * have them and the options say how they are made. `options` and `work` may be
 * null. The file appears under its name when it is complete and durable, or not at all.
 *
 * Ownership: nothing is kept.
 *
 * Threads: any; it uses several.
 *
 * Errors: `HAMDEX_EXISTS` if there is a file and `HAMDEX_OVERWRITE` is not set, `HAMDEX_INPUT`, `HAMDEX_SYSTEM` as for
 * a full disk, `HAMDEX_NOT_DURABLE`, `HAMDEX_STOPPED`, `HAMDEX_MEMORY`, `HAMDEX_USAGE`, `HAMDEX_MISUSE`.
 */
hamdex_status hamdex_build(const char *path,
                           size_t path_length,
                           const struct hamdex_records *records,
                           const struct hamdex_build_options *options,
                           const struct hamdex_work *work,
                           struct hamdex_error **error);

/**
 * Creates a store in a directory that does not exist yet or is empty. `create_options` and `options` may be null.
 *
 * Ownership: `*store` is the caller's, who closes it with `hamdex_store_close`; it is null after a failure.
 *
 * Threads: any. The store starts threads of its own.
 *
 * Errors: `HAMDEX_EXISTS` if it is not empty, or no directory, `HAMDEX_UNAVAILABLE` if it is a store in use,
 * `HAMDEX_USAGE`, `HAMDEX_INPUT` for another width, `HAMDEX_SYSTEM`, `HAMDEX_MISUSE`.
 */
hamdex_status hamdex_store_create(const char *path,
                                  size_t path_length,
                                  const struct hamdex_create_options *create_options,
                                  const struct hamdex_store_options *options,
                                  struct hamdex_store **store,
                                  struct hamdex_error **error);

/**
 * Opens a store for writing, of fingerprints of any width. After a crash, it has every write that was acknowledged as
 * durable. `options` may be null. To read a store that another process has open, use `hamdex_open`.
 *
 * Ownership: `*store` is the caller's, who closes it with `hamdex_store_close`; it is null after a failure.
 *
 * Threads: any. The store starts threads of its own.
 *
 * Errors: `HAMDEX_SYSTEM` if there is no such directory, `HAMDEX_FORMAT` if it is not a store, `HAMDEX_UNAVAILABLE` if it
 * is in use, `HAMDEX_DAMAGED`, `HAMDEX_USAGE`, `HAMDEX_MISUSE`.
 */
hamdex_status hamdex_store_open(const char *path,
                                size_t path_length,
                                const struct hamdex_store_options *options,
                                struct hamdex_store **store,
                                struct hamdex_error **error);

/**
 * Makes all writes durable, and closes a store, even if that fails. Null is allowed. Running flushes and merges are
 * cancelled, since the log has everything. Sets of `hamdex_store_snapshot` stay open.
 *
 * Threads: any. Writes of other threads that have begun are completed; later ones fail with `HAMDEX_UNAVAILABLE` or
 * `HAMDEX_MISUSE`.
 *
 * Errors: `HAMDEX_SYSTEM` if the disk refuses something; `HAMDEX_UNAVAILABLE` after a fork; `HAMDEX_MISUSE` for what
 * is not a store, or is closed already.
 */
hamdex_status hamdex_store_close(struct hamdex_store *store,
                                 struct hamdex_error **error);

/**
 * Opens the set as it is now: its queries see no later writes. It costs next to nothing; files that have been merged
 * meanwhile are kept until it is closed.
 *
 * Ownership: `*set` is the caller's, who closes it with `hamdex_set_close`, before or after the store.
 *
 * Threads: any.
 *
 * Errors: `HAMDEX_MISUSE`.
 */
hamdex_status hamdex_store_snapshot(const struct hamdex_store *store,
                                    struct hamdex_set **set,
                                    struct hamdex_error **error);

/**
 * Makes all writes durable that have returned, whatever the durability of the store is.
 *
 * Threads: any.
 *
 * Errors: `HAMDEX_SYSTEM` if the disk refuses it, `HAMDEX_UNAVAILABLE`, `HAMDEX_MISUSE`.
 */
hamdex_status hamdex_store_sync(const struct hamdex_store *store,
                                struct hamdex_error **error);

/**
 * Writes everything in memory to a file. Nothing is lost if it fails.
 *
 * Threads: any.
 *
 * Errors: `HAMDEX_SYSTEM` if the disk refuses it, `HAMDEX_UNAVAILABLE`, `HAMDEX_MISUSE`.
 */
hamdex_status hamdex_store_flush(const struct hamdex_store *store,
                                 struct hamdex_error **error);

/**
 * Merges everything that was written before this call into one file, without removed pairs. Of `work`, which may be
 * null, it knows the callback only: memory and threads are those of the store.
 *
 * Threads: any. Queries and writes go on meanwhile.
 *
 * Errors: `HAMDEX_STOPPED`, after which merges that have ended stay; `HAMDEX_SYSTEM`, `HAMDEX_DAMAGED`,
 * `HAMDEX_UNAVAILABLE`, `HAMDEX_MISUSE`.
 */
hamdex_status hamdex_store_compact(const struct hamdex_store *store,
                                   const struct hamdex_work *work,
                                   struct hamdex_error **error);

/**
 * Fills in counts and costs of a store. The caller sets `stats->size` before. It reads no file and waits for no lock.
 *
 * Threads: any.
 *
 * Errors: `HAMDEX_USAGE` for a wrong size, `HAMDEX_MISUSE`.
 */
hamdex_status hamdex_store_get_stats(const struct hamdex_store *store,
                                     struct hamdex_store_stats *stats,
                                     struct hamdex_error **error);

/**
 * Inserts records into a store: all of them, or none. They have ids in a store with ids, names in a store with names,
 * shingles as well in a store with shingles, and neither otherwise. A store with names gives them ids, ascending: the first, or 0 without records, is written to
 * `*first_id`, which may be null.
 *
 * Ownership: nothing is kept.
 *
 * Threads: any. Writers that wait at the same time share a sync.
 *
 * Errors: `HAMDEX_INPUT` for records that do not fit the store, `HAMDEX_UNAVAILABLE`, `HAMDEX_SYSTEM`,
 * `HAMDEX_MEMORY`, `HAMDEX_USAGE`, `HAMDEX_MISUSE`; nothing was inserted then.
 */
hamdex_status hamdex_store_insert(const struct hamdex_store *store,
                                  const struct hamdex_records *records,
                                  uint64_t *first_id,
                                  struct hamdex_error **error);

/**
 * Inserts each record, in order, unless a fingerprint within `distance` bits is stored or was inserted before it. The
 * call is atomic, also between threads. `*inserted` is the number of records that were inserted. Record r was if query
 * r of `*near` has no match; otherwise the match is the nearest stored fingerprint, with its first 10 ids and their
 * names, fewer if these are long, as far as the store has them. `inserted` and `near` may be null.
 *
 * Ownership: `*near` are the caller's, who frees them with `hamdex_matches_free`.
 *
 * Threads: any.
 *
 * Errors: as for `hamdex_store_insert`, and `HAMDEX_DAMAGED`; nothing was inserted then, and `*near` is null.
 */
hamdex_status hamdex_store_insert_unless_near(const struct hamdex_store *store,
                                              const struct hamdex_records *records,
                                              uint32_t distance,
                                              uint64_t *inserted,
                                              const struct hamdex_matches **near,
                                              struct hamdex_error **error);

/**
 * Inserts each record, in order, unless a document that is similar to it is stored or was inserted before it: one whose
 * similarity, by the measure, is at least `least`, as for `hamdex_searcher_similar`. The call is atomic, also between
 * threads. The store keeps shingles, and the records have names and shingles. `*inserted` is the number of records that
 * were inserted. Record r was if query r of `*similar` has no document; otherwise it is the most similar one, with its
 * name. `inserted` and `similar` may be null.
 *
 * Ownership: `*similar` are the caller's, who frees them with `hamdex_similar_free`.
 *
 * Threads: any.
 *
 * Errors: as for `hamdex_store_insert`, and `HAMDEX_DAMAGED`; `HAMDEX_INPUT` in a store without shingles, and for ones
 * that do not ascend or have more bits; `HAMDEX_USAGE` for another measure or share. Nothing was inserted then, and
 * `*similar` is null.
 */
hamdex_status hamdex_store_insert_unless_similar(const struct hamdex_store *store,
                                                 const struct hamdex_records *records,
                                                 uint32_t measure,
                                                 double least,
                                                 uint64_t *inserted,
                                                 const struct hamdex_similar **similar,
                                                 struct hamdex_error **error);

/**
 * Inserts records in place of all pairs with their ids, or in a store with names with their names: all of them, or
 * none. Of several with one id or name, the last counts. In a store with names, each record gets a new id. The store
 * must have look-ups (`HAMDEX_WITH_LOOKUPS`). `*replaced` is the number of pairs that were removed; it may be null.
 *
 * Ownership: nothing is kept.
 *
 * Threads: any.
 *
 * Errors: as for `hamdex_store_insert`, and `HAMDEX_DAMAGED`; `HAMDEX_INPUT` in a store without look-ups. Nothing has
 * changed then.
 */
hamdex_status hamdex_store_replace(const struct hamdex_store *store,
                                   const struct hamdex_records *records,
                                   uint64_t *replaced,
                                   struct hamdex_error **error);

/**
 * Replaces as `hamdex_store_replace`, each record, in order, unless a fingerprint within `distance` bits has another id
 * or name, stored or inserted before it. A record is not near to the records that it replaces; one that is near to others
 * replaces nothing. The call is atomic, also between threads. `*replaced` is the number of pairs that were removed;
 * `*near` is as for `hamdex_store_insert_unless_near`, without the record's own ids and names. Both may be null.
 *
 * Ownership: `*near` are the caller's, who frees them with `hamdex_matches_free`.
 *
 * Threads: any.
 *
 * Errors: as for `hamdex_store_replace`; nothing has changed then, and `*near` is null.
 */
hamdex_status hamdex_store_replace_unless_near(const struct hamdex_store *store,
                                               const struct hamdex_records *records,
                                               uint32_t distance,
                                               uint64_t *replaced,
                                               const struct hamdex_matches **near,
                                               struct hamdex_error **error);

/**
 * Replaces as `hamdex_store_replace`, each record, in order, unless a document of another name that is similar to it is
 * stored or was inserted before it, as for `hamdex_store_insert_unless_similar`. A record is not similar to the documents
 * that it replaces; one that is similar to others replaces nothing. The call is atomic, also between threads.
 * `*replaced` is the number of pairs that were removed; `*similar` are as for `hamdex_store_insert_unless_similar`. Both
 * may be null.
 *
 * Ownership: `*similar` are the caller's, who frees them with `hamdex_similar_free`.
 *
 * Threads: any.
 *
 * Errors: as for `hamdex_store_insert_unless_similar`, and `HAMDEX_INPUT` in a store without look-ups. Nothing has
 * changed then, and `*similar` is null.
 */
hamdex_status hamdex_store_replace_unless_similar(const struct hamdex_store *store,
                                                  const struct hamdex_records *records,
                                                  uint32_t measure,
                                                  double least,
                                                  uint64_t *replaced,
                                                  const struct hamdex_similar **similar,
                                                  struct hamdex_error **error);

/**
 * Removes records from a store: with ids these pairs, without ids all pairs of the fingerprints. `*removed` is the
 * number of pairs that were stored; it may be null.
 *
 * Ownership: nothing is kept.
 *
 * Threads: any.
 *
 * Errors: as for `hamdex_store_insert`, and `HAMDEX_DAMAGED`; nothing was removed then.
 */
hamdex_status hamdex_store_remove(const struct hamdex_store *store,
                                  const struct hamdex_records *records,
                                  uint64_t *removed,
                                  struct hamdex_error **error);

/**
 * Removes all pairs with one of these ids. In a store without look-ups it reads the whole store once. `*removed` is their number; it may be null.
 *
 * Ownership: nothing is kept.
 *
 * Threads: any.
 *
 * Errors: as for `hamdex_store_remove`.
 */
hamdex_status hamdex_store_remove_ids(const struct hamdex_store *store,
                                      const uint64_t *ids,
                                      uint64_t count,
                                      uint64_t *removed,
                                      struct hamdex_error **error);

/**
 * Removes all pairs whose ids have one of `count` names, which are given as in `hamdex_records`. In a store without
 * look-ups it reads all names and the whole store once. `*removed` is the number of pairs; it may be null.
 *
 * Ownership: nothing is kept.
 *
 * Threads: any.
 *
 * Errors: as for `hamdex_store_remove`.
 */
hamdex_status hamdex_store_remove_names(const struct hamdex_store *store,
                                        const char *names,
                                        const uint64_t *name_starts,
                                        uint64_t count,
                                        uint64_t *removed,
                                        struct hamdex_error **error);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* HAMDEX_H */
