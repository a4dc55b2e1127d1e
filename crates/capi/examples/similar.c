/* Keeps texts in a store unless a similar one is there, and asks what is similar. The directory is the argument. */
#include <hamdex.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A shingle is a run of so many words. */
#define WORDS 3
#define MOST 64
#define DEFINITION "FNV-1a, three words"

static void check(hamdex_status status, hamdex_error **error)
{
    if (status != HAMDEX_OK) {
        fprintf(stderr, "similar: %s\n", (*error)->message);
        hamdex_error_free(*error);
        exit(1);
    }
}

static int compare(const void *one, const void *other)
{
    uint64_t a = *(const uint64_t *)one, b = *(const uint64_t *)other;
    return (a > b) - (a < b);
}

/* Hashes the runs of words of a text into 48 bits: ascending, each once. Returns their number. */
static size_t shingles_of(const char *text, uint64_t shingles[MOST])
{
    const char *words[MOST + WORDS];
    size_t count = 0, runs = 0, kept = 0;
    for (const char *at = text; *at && count < MOST; at += strspn(at, " ")) {
        words[count++] = at;
        at += strcspn(at, " ");
    }
    for (; runs + WORDS <= count; runs++) {
        const char *end = words[runs + WORDS - 1] + strcspn(words[runs + WORDS - 1], " ");
        uint64_t hash = 14695981039346656037u;
        for (const char *at = words[runs]; at < end; at++) {
            hash = (hash ^ (uint8_t)*at) * 1099511628211u;
        }
        shingles[runs] = hash >> 16;
    }
    qsort(shingles, runs, sizeof *shingles, compare);
    for (size_t run = 0; run < runs; run++) {
        if (kept == 0 || shingles[kept - 1] != shingles[run]) {
            shingles[kept++] = shingles[run];
        }
    }
    return kept;
}

static void print_similar(const hamdex_similar *similar)
{
    for (uint64_t query = 0; query < similar->queries; query++) {
        printf("query %" PRIu64 ":", query);
        for (uint64_t d = similar->query_starts[query]; d < similar->query_starts[query + 1]; d++) {
            int length = (int)(similar->name_starts[d + 1] - similar->name_starts[d]);
            printf(" %.*s %.2f", length, similar->names + similar->name_starts[d], similar->similarities[d]);
        }
        printf("\n");
    }
}

int main(int argc, char **argv)
{
    static const char *const texts[3] = {
        "call me ishmael some years ago never mind how long precisely",
        "call me ishmael some years ago never mind how long exactly",
        "it was the best of times it was the worst of times",
    };
    static const char names[] = "whalecopytimes";
    static const uint64_t name_starts[4] = {0, 5, 9, 14};
    if (argc != 2 || hamdex_abi_version() != HAMDEX_ABI_VERSION) {
        return 2;
    }
    char path[4096];
    snprintf(path, sizeof path, "%s/texts.store", argv[1]);
    hamdex_error *error;
    hamdex_store *store;
    hamdex_create_options options = {
        .size = sizeof options, .shingles = DEFINITION, .shingles_length = strlen(DEFINITION)};
    check(hamdex_store_create(path, strlen(path), &options, NULL, &store, &error), &error);

    /* Without fingerprints of their own, all have the same. */
    uint8_t fingerprints[3 * 8] = {0};
    uint64_t shingles[3 * MOST], shingle_starts[4] = {0};
    for (int text = 0; text < 3; text++) {
        shingle_starts[text + 1] = shingle_starts[text] + shingles_of(texts[text], shingles + shingle_starts[text]);
    }
    hamdex_records records = {.size = sizeof records,
                              .count = 3,
                              .fingerprints = fingerprints,
                              .fingerprint_bytes = 8,
                              .names = names,
                              .name_starts = name_starts,
                              .shingles = shingles,
                              .shingle_starts = shingle_starts};
    uint64_t inserted;
    const hamdex_similar *similar;
    check(hamdex_store_insert_unless_similar(store, &records, HAMDEX_RESEMBLANCE, 0.7, &inserted, &similar, &error),
          &error);
    printf("inserted %" PRIu64 "\n", inserted);
    print_similar(similar);
    hamdex_similar_free(similar);

    hamdex_set *set;
    hamdex_searcher *searcher;
    check(hamdex_store_snapshot(store, &set, &error), &error);
    check(hamdex_searcher_open(set, &searcher, &error), &error);
    /* Which of them contain at least half of a quotation? */
    uint64_t quoted[MOST];
    size_t count = shingles_of("he wrote call me ishmael some years ago", quoted);
    check(hamdex_searcher_similar(searcher, quoted, count, HAMDEX_CONTAINING, 0.5, 0, HAMDEX_NAMES, &similar, &error),
          &error);
    print_similar(similar);

    hamdex_status status = hamdex_searcher_similar(searcher, quoted, count, 0, 1.5, 0, 0, &similar, &error);
    printf("status %" PRId32 ": %s\n", status, error->message);
    hamdex_error_free(error);
    quoted[0] = UINT64_MAX;
    status = hamdex_searcher_similar(searcher, quoted, count, 0, 0.5, 0, 0, &similar, &error);
    printf("status %" PRId32 ": %s\n", status, error->message);
    hamdex_error_free(error);
    hamdex_searcher_close(searcher);
    hamdex_set_close(set);
    check(hamdex_store_close(store, &error), &error);
    return 0;
}
