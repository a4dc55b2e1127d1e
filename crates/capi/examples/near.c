/* Builds an index, asks it, and keeps a store that answers "is this page new?". The directory is the argument. */
#include <hamdex.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Ends the program with the message of a call that failed. The error is read after the call has written it. */
static void check(hamdex_status status, hamdex_error **error)
{
    if (status != HAMDEX_OK) {
        fprintf(stderr, "near: %s\n", (*error)->message);
        hamdex_error_free(*error);
        exit(1);
    }
}

static void print_matches(const hamdex_matches *matches)
{
    for (uint64_t query = 0; query < matches->queries; query++) {
        printf("query %" PRIu64 ":", query);
        for (uint64_t m = matches->query_starts[query]; m < matches->query_starts[query + 1]; m++) {
            for (uint64_t i = matches->id_starts[m]; i < matches->id_starts[m + 1]; i++) {
                printf(" id %" PRIu64 " at %" PRIu32, matches->ids[i], matches->distances[m]);
            }
            uint64_t listed = matches->id_starts[m + 1] - matches->id_starts[m];
            if (matches->id_counts[m] > listed) {
                printf(" and %" PRIu64 " more", matches->id_counts[m] - listed);
            }
        }
        printf("\n");
    }
}

/* Takes the first pairs, and stops. */
static int on_pairs(void *context, const uint8_t *left, const uint8_t *right, const uint32_t *distances, uint64_t count)
{
    (void)count;
    *(int *)context += 1;
    printf("pair: %016" PRIx64 " %016" PRIx64 ", %" PRIu32 " apart\n", hamdex_u64_of_bytes(left),
           hamdex_u64_of_bytes(right), distances[0]);
    return 1;
}

static void files(const char *path)
{
    const uint64_t numbers[3] = {0x0123456789abcdef, 0x0123456789abcdee, 0xffff0000ffff0000};
    const uint64_t ids[3] = {17, 18, 19};
    uint8_t fingerprints[3 * 8];
    for (int i = 0; i < 3; i++) {
        hamdex_u64_to_bytes(numbers[i], &fingerprints[8 * i]);
    }
    hamdex_error *error;
    hamdex_records records = {
        .size = sizeof records, .count = 3, .fingerprints = fingerprints, .fingerprint_bytes = 8, .ids = ids};
    check(hamdex_build(path, strlen(path), &records, NULL, NULL, &error), &error);

    hamdex_set *set;
    check(hamdex_open(path, strlen(path), 0, &set, &error), &error);
    hamdex_description description = {.size = sizeof description};
    check(hamdex_set_describe(set, &description, &error), &error);
    printf("%" PRIu64 " fingerprints of %" PRIu32 " bits\n", description.fingerprints, description.width);

    hamdex_searcher *searcher;
    const hamdex_matches *matches;
    check(hamdex_searcher_open(set, &searcher, &error), &error);
    check(hamdex_searcher_query(searcher, fingerprints, 8, 3, 0, HAMDEX_IDS, &matches, &error), &error);
    print_matches(matches);
    hamdex_searcher_close(searcher);

    check(hamdex_set_batch(set, fingerprints, 8, 3, 3, 1, HAMDEX_IDS, NULL, &matches, &error), &error);
    print_matches(matches);
    hamdex_matches_free(matches);

    int calls = 0;
    hamdex_status status = hamdex_set_pairs(set, 3, NULL, on_pairs, &calls, NULL);
    printf("pairs: status %" PRId32 " after %d call\n", status, calls);
    hamdex_set_close(set);
}

static void stores(const char *path)
{
    hamdex_error *error;
    hamdex_store *store;
    hamdex_create_options options = {.size = sizeof options, .flags = HAMDEX_WITH_IDS};
    check(hamdex_store_create(path, strlen(path), &options, NULL, &store, &error), &error);

    const uint8_t pages[2 * 8] = {0, 0, 0, 0, 0, 0, 0, 0xff, 0, 0, 0, 0, 0, 0, 0, 0xfe};
    const uint64_t ids[2] = {1, 2};
    hamdex_records records = {
        .size = sizeof records, .count = 2, .fingerprints = pages, .fingerprint_bytes = 8, .ids = ids};
    uint64_t inserted, removed;
    const hamdex_matches *near;
    check(hamdex_store_insert_unless_near(store, &records, 3, &inserted, &near, &error), &error);
    printf("inserted %" PRIu64 "\n", inserted);
    print_matches(near);
    hamdex_matches_free(near);

    records.count = 1;
    check(hamdex_store_remove(store, &records, &removed, &error), &error);
    check(hamdex_store_close(store, &error), &error);
    printf("removed %" PRIu64 "\n", removed);
}

int main(int argc, char **argv)
{
    if (argc != 2 || hamdex_abi_version() != HAMDEX_ABI_VERSION) {
        return 2;
    }
    char path[4096];
    snprintf(path, sizeof path, "%s/news.hamdex", argv[1]);
    files(path);
    snprintf(path, sizeof path, "%s/pages.store", argv[1]);
    stores(path);
    snprintf(path, sizeof path, "%s/missing.hamdex", argv[1]);
    hamdex_set *set;
    hamdex_error *error;
    hamdex_status status = hamdex_open(path, strlen(path), 0, &set, &error);
    printf("missing: status %" PRId32 ", system %" PRId32 "\n", status, error->os_code);
    hamdex_error_free(error);
    return 0;
}
