/*
 * hamdex in SQLite, on the C library of hamdex:
 *
 *     .load ./hamdex
 *     SELECT id, distance FROM hamdex('news.hamdex', x'0123456789abcdef', 3);
 *     SELECT photos.name, near.id FROM photos JOIN hamdex('known.hamdex', photos.hash, 3) AS near;
 *     SELECT hamming(a, b);
 *     SELECT hamdex_build('known.hamdex', hash, id, 5) FROM photos;
 *
 * A fingerprint is a blob of 8 or 16 bytes, the same as hexadecimal text, or an integer, whose 64 bits are taken. README.md
 * says the rest.
 */
#include <sqlite3ext.h>
SQLITE_EXTENSION_INIT1

#include <hamdex.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>

/* The most bytes of a fingerprint that this file copies. */
#define MAX_BYTES 32
/* The most files that a connection keeps open. */
#define MAX_FILES 16

/* ---- fingerprints ---- */

static int digit_of(unsigned char digit)
{
    if (digit >= '0' && digit <= '9') {
        return digit - '0';
    }
    digit |= 0x20;
    return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

/* Writes the bytes of a fingerprint and returns their number: 0 for null, -1 for what is no fingerprint. */
static int bytes_of(sqlite3_value *value, uint8_t bytes[MAX_BYTES])
{
    switch (sqlite3_value_type(value)) {
    case SQLITE_NULL:
        return 0;
    case SQLITE_INTEGER:
        hamdex_u64_to_bytes((uint64_t)sqlite3_value_int64(value), bytes);
        return 8;
    case SQLITE_BLOB: {
        const void *blob = sqlite3_value_blob(value);
        int length = sqlite3_value_bytes(value);
        if (blob == NULL || length < 1 || length > MAX_BYTES) {
            return -1;
        }
        memcpy(bytes, blob, (size_t)length);
        return length;
    }
    case SQLITE_TEXT: {
        const unsigned char *text = sqlite3_value_text(value);
        int length = sqlite3_value_bytes(value);
        if (text == NULL || length < 2 || length % 2 != 0 || length / 2 > MAX_BYTES) {
            return -1;
        }
        for (int i = 0; i < length; i += 2) {
            int high = digit_of(text[i]), low = digit_of(text[i + 1]);
            if (high < 0 || low < 0) {
                return -1;
            }
            bytes[i / 2] = (uint8_t)(high << 4 | low);
        }
        return length / 2;
    }
    default:
        return -1;
    }
}

static int bits_in(uint64_t word)
{
    return __builtin_popcountll(word);
}

/* hamming(a, b): the number of bits in which two fingerprints differ; null if one is null. */
static void hamming(sqlite3_context *context, int count, sqlite3_value **values)
{
    (void)count;
    uint8_t a[MAX_BYTES] = {0}, b[MAX_BYTES] = {0};
    int of_a = bytes_of(values[0], a), of_b = bytes_of(values[1], b);
    if (of_a < 0 || of_b < 0) {
        sqlite3_result_error(context, "hamming: a fingerprint is a blob, hexadecimal text or an integer", -1);
    } else if (of_a == 0 || of_b == 0) {
        sqlite3_result_null(context);
    } else if (of_a != of_b) {
        sqlite3_result_error(context, "hamming: the fingerprints have different widths", -1);
    } else {
        int distance = 0;
        for (int i = 0; i < MAX_BYTES; i += 8) {
            uint64_t left, right;
            memcpy(&left, a + i, 8);
            memcpy(&right, b + i, 8);
            distance += bits_in(left ^ right);
        }
        sqlite3_result_int(context, distance);
    }
}

/* Whether a path, as text with a zero byte behind it, has one inside as well, at which SQLite and the system end it. */
static bool is_cut(sqlite3_value *value, const char *path)
{
    return strlen(path) != (size_t)sqlite3_value_bytes(value);
}

/* ---- the table hamdex(path, query, max_distance, max_matches) ---- */

enum { ID, DISTANCE, FINGERPRINT, NAME, PART, PATH, QUERY, MAX_DISTANCE, MAX_MATCHES, KEY };

/* The arguments are the hidden columns before the key, in this order; a bit of `idxNum` says that one is given. */
#define ARGUMENTS (KEY - PATH)
#define BIT(column) (1 << ((column)-PATH))
/* The same bits of a set of columns. */
#define ARGUMENTS_OF(columns) ((int)((columns) >> PATH) & ((1 << ARGUMENTS) - 1))

/* A file that is open, and is what it was when it was opened. */
typedef struct {
    char *path;
    struct stat seen;
    hamdex_set *set;
    hamdex_description description;
    /* A searcher that no cursor uses. */
    hamdex_searcher *idle;
    /* Grows when the file is opened anew. */
    uint64_t generation;
} opened;

typedef struct {
    sqlite3_vtab base;
    opened files[MAX_FILES];
    /* The file that is replaced next. */
    int next;
} table;

typedef struct {
    sqlite3_vtab_cursor base;
    sqlite3_value *arguments[ARGUMENTS];
    /* The path of the searcher, and the place of its set among those of the table; -1 if it is not there. */
    char *path;
    int file;
    uint64_t generation;
    hamdex_searcher *searcher;
    hamdex_description description;
    /* Those of a directory, which is opened by each statement. */
    hamdex_set *own;
    const hamdex_matches *matches;
    uint64_t match, id;
} cursor;

/* Keeps the message of an error, and frees the error. */
static int failed(sqlite3_vtab *base, hamdex_status status, hamdex_error *error)
{
    sqlite3_free(base->zErrMsg);
    base->zErrMsg = sqlite3_mprintf("hamdex: %s", error == NULL ? "no message" : error->message);
    hamdex_error_free(error);
    switch (status) {
    case HAMDEX_MEMORY:
        return SQLITE_NOMEM;
    case HAMDEX_FORMAT:
        return SQLITE_NOTADB;
    case HAMDEX_DAMAGED:
        return SQLITE_CORRUPT_VTAB;
    default:
        return SQLITE_ERROR;
    }
}

static int refused(sqlite3_vtab *base, const char *why)
{
    sqlite3_free(base->zErrMsg);
    base->zErrMsg = sqlite3_mprintf("hamdex: %s", why);
    return SQLITE_ERROR;
}

/*
 * SQLite answers an OR by several scans, and takes rows with the same row id for the same row. A scan cannot number its
 * rows so that all scans agree; the table has no row ids, and its primary key holds the arguments and the contents.
 */
static int connect(sqlite3 *db, void *aux, int argc, const char *const *argv, sqlite3_vtab **made, char **message)
{
    (void)aux, (void)argc, (void)argv, (void)message;
    int code = sqlite3_declare_vtab(db, "CREATE TABLE x(id INTEGER, distance INTEGER, fingerprint BLOB, name TEXT,"
                                        " part INTEGER, path HIDDEN, query HIDDEN, max_distance HIDDEN,"
                                        " max_matches HIDDEN, row_key HIDDEN NOT NULL, PRIMARY KEY(row_key))"
                                        " WITHOUT ROWID");
    if (code != SQLITE_OK) {
        return code;
    }
    /* It opens files: the schema of a database that somewhere else was made must not. */
    sqlite3_vtab_config(db, SQLITE_VTAB_DIRECTONLY);
    table *own = sqlite3_malloc(sizeof *own);
    if (own == NULL) {
        return SQLITE_NOMEM;
    }
    memset(own, 0, sizeof *own);
    *made = &own->base;
    return SQLITE_OK;
}

static void forget(opened *file)
{
    hamdex_searcher_close(file->idle);
    hamdex_set_close(file->set);
    sqlite3_free(file->path);
    file->idle = NULL;
    file->set = NULL;
    file->path = NULL;
}

static int disconnect(sqlite3_vtab *base)
{
    table *own = (table *)base;
    for (int i = 0; i < MAX_FILES; i++) {
        forget(&own->files[i]);
    }
    sqlite3_free(own);
    return SQLITE_OK;
}

/* Whether a path and a fingerprint are among the arguments. */
static bool is_complete(int given)
{
    return (given & BIT(PATH)) != 0 && (given & BIT(QUERY)) != 0;
}

static int best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
    (void)base;
    int of_argument[ARGUMENTS] = {-1, -1, -1, -1}, given = 0, unusable = 0;
    for (int i = 0; i < info->nConstraint; i++) {
        int column = info->aConstraint[i].iColumn;
        if (column < PATH || column >= KEY || info->aConstraint[i].op != SQLITE_INDEX_CONSTRAINT_EQ) {
            continue;
        }
        if (info->aConstraint[i].usable) {
            given |= BIT(column);
            of_argument[column - PATH] = i;
        } else {
            unusable |= BIT(column);
        }
    }
    if (unusable & ~given) {
        /* The tables that the arguments come from have to be read before. */
        return SQLITE_CONSTRAINT;
    }
    int arguments = 0;
    for (int i = 0; i < ARGUMENTS; i++) {
        if (of_argument[i] >= 0) {
            info->aConstraintUsage[of_argument[i]].argvIndex = ++arguments;
            info->aConstraintUsage[of_argument[i]].omit = 1;
        }
    }
    info->idxNum = given;
    /* Matches come nearest first. */
    if (info->nOrderBy == 1 && info->aOrderBy[0].iColumn == DISTANCE && !info->aOrderBy[0].desc) {
        info->orderByConsumed = 1;
    }
    /*
     * SQLite plans the sides of an OR without the terms around it, which it adds when it compiles them. A scan without
     * path or fingerprint fails, so any other plan is better; sides with a fingerprint may get their path from outside.
     * An argument that is read and not given may stand within an OR, where it is none: sides that give it are better.
     * The costs lie near each other, so that one does not drown the others in the sum of a join.
     */
    bool is_read = (ARGUMENTS_OF(info->colUsed) & ~given & ~(BIT(PATH) | BIT(QUERY))) != 0;
    info->estimatedCost = !(given & BIT(QUERY)) ? 1e99 : !is_complete(given) ? 4000 : is_read ? 1e6 : 100;
    info->estimatedRows = 4;
    return SQLITE_OK;
}

static int open_cursor(sqlite3_vtab *base, sqlite3_vtab_cursor **made)
{
    (void)base;
    cursor *own = sqlite3_malloc(sizeof *own);
    if (own == NULL) {
        return SQLITE_NOMEM;
    }
    memset(own, 0, sizeof *own);
    own->file = -1;
    *made = &own->base;
    return SQLITE_OK;
}

/* Gives the searcher back to its file, or closes it. */
static void leave(cursor *own)
{
    table *of = (table *)own->base.pVtab;
    opened *file = own->file < 0 ? NULL : &of->files[own->file];
    if (file != NULL && file->generation == own->generation && file->idle == NULL) {
        file->idle = own->searcher;
    } else {
        hamdex_searcher_close(own->searcher);
    }
    hamdex_set_close(own->own);
    sqlite3_free(own->path);
    own->own = NULL;
    own->path = NULL;
    own->searcher = NULL;
    own->matches = NULL;
    own->file = -1;
}

static int close_cursor(sqlite3_vtab_cursor *base)
{
    cursor *own = (cursor *)base;
    leave(own);
    for (int i = 0; i < ARGUMENTS; i++) {
        sqlite3_value_free(own->arguments[i]);
    }
    sqlite3_free(own);
    return SQLITE_OK;
}

static bool is_same(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size && a->st_mtime == b->st_mtime
           && a->st_ctime == b->st_ctime;
}

static int open_set(cursor *own, const char *path, hamdex_set **set, hamdex_description *description)
{
    hamdex_error *error = NULL;
    hamdex_status status = hamdex_open(path, strlen(path), 0, set, &error);
    if (status == HAMDEX_OK) {
        memset(description, 0, sizeof *description);
        description->size = sizeof *description;
        status = hamdex_set_describe(*set, description, &error);
    }
    return status == HAMDEX_OK ? SQLITE_OK : failed(own->base.pVtab, status, error);
}

/* Finds the file among those of the table, or opens it. A file that was replaced is opened anew. */
static int file_of(cursor *own, const char *path, const struct stat *now)
{
    table *of = (table *)own->base.pVtab;
    opened *file = NULL;
    for (int i = 0; i < MAX_FILES && file == NULL; i++) {
        if (of->files[i].path != NULL && strcmp(of->files[i].path, path) == 0) {
            file = &of->files[i];
        }
    }
    if (file == NULL) {
        file = &of->files[of->next];
        of->next = (of->next + 1) % MAX_FILES;
        forget(file);
        file->generation++;
    } else if (!is_same(&file->seen, now)) {
        forget(file);
        file->generation++;
    }
    if (file->set == NULL) {
        int code = open_set(own, path, &file->set, &file->description);
        if (code == SQLITE_OK && (file->path = sqlite3_mprintf("%s", path)) == NULL) {
            code = SQLITE_NOMEM;
        }
        if (code != SQLITE_OK) {
            forget(file);
            return code;
        }
        file->seen = *now;
    }
    own->file = (int)(file - of->files);
    own->generation = file->generation;
    own->description = file->description;
    own->searcher = file->idle;
    file->idle = NULL;
    return SQLITE_OK;
}

/* Opens a searcher of what the path names; a statement keeps it as long as the path is the same. */
static int enter(cursor *own, const char *path)
{
    if (own->path != NULL && strcmp(own->path, path) == 0) {
        return SQLITE_OK;
    }
    leave(own);
    struct stat now;
    int code = SQLITE_OK;
    bool is_file = stat(path, &now) == 0 && S_ISREG(now.st_mode);
    if (is_file) {
        code = file_of(own, path, &now);
    } else {
        code = open_set(own, path, &own->own, &own->description);
    }
    if (code == SQLITE_OK && own->searcher == NULL) {
        table *of = (table *)own->base.pVtab;
        hamdex_error *error = NULL;
        hamdex_set *set = own->file < 0 ? own->own : of->files[own->file].set;
        hamdex_status status = hamdex_searcher_open(set, &own->searcher, &error);
        if (status == HAMDEX_OK) {
            /* A row for each id. */
            status = hamdex_searcher_set_ids_limit(own->searcher, HAMDEX_ALL_IDS, &error);
        }
        if (status != HAMDEX_OK) {
            code = failed(own->base.pVtab, status, error);
        }
    }
    if (code == SQLITE_OK && (own->path = sqlite3_mprintf("%s", path)) == NULL) {
        code = SQLITE_NOMEM;
    }
    if (code != SQLITE_OK) {
        leave(own);
    }
    return code;
}

/* Goes to the next match that has an id left, where matches have ids. */
static void settle(cursor *own)
{
    while (own->description.has_ids && own->match < own->matches->count
           && own->id >= own->matches->id_starts[own->match + 1]) {
        own->match++;
    }
}

/* An argument that is a number from 0 on; `missing` if there is none. */
static int number_of(cursor *own, int column, sqlite3_int64 missing, sqlite3_int64 *number)
{
    sqlite3_value *value = own->arguments[column - PATH];
    if (value == NULL || sqlite3_value_type(value) == SQLITE_NULL) {
        *number = missing;
        return SQLITE_OK;
    }
    *number = sqlite3_value_int64(value);
    if (sqlite3_value_numeric_type(value) != SQLITE_INTEGER || *number < 0) {
        return refused(own->base.pVtab, "the distance and the number of matches are integers from 0 on");
    }
    return SQLITE_OK;
}

static int filter(sqlite3_vtab_cursor *base, int given, const char *name, int argc, sqlite3_value **argv)
{
    (void)name, (void)argc;
    cursor *own = (cursor *)base;
    own->matches = NULL;
    if (!is_complete(given)) {
        return refused(base->pVtab, "a path and a fingerprint are needed: hamdex(path, fingerprint, distance, matches)");
    }
    for (int i = 0, argument = 0; i < ARGUMENTS; i++) {
        sqlite3_value_free(own->arguments[i]);
        own->arguments[i] = given & (1 << i) ? sqlite3_value_dup(argv[argument++]) : NULL;
        if (given & (1 << i) && own->arguments[i] == NULL) {
            return SQLITE_NOMEM;
        }
    }
    uint8_t query[MAX_BYTES];
    /* A conversion without memory gives no text, and may leave null behind. */
    bool is_null = sqlite3_value_type(own->arguments[0]) == SQLITE_NULL;
    const char *path = (const char *)sqlite3_value_text(own->arguments[0]);
    int length = bytes_of(own->arguments[QUERY - PATH], query);
    if (path == NULL && !is_null) {
        return SQLITE_NOMEM;
    }
    if (path == NULL || length == 0) {
        /* Nothing is near null. */
        return SQLITE_OK;
    }
    if (is_cut(own->arguments[0], path)) {
        return refused(base->pVtab, "the path has a zero byte");
    }
    if (length < 0) {
        return refused(base->pVtab, "a fingerprint is a blob, hexadecimal text or an integer");
    }
    int code = enter(own, path);
    sqlite3_int64 distance = 0, limit = 0;
    if (code == SQLITE_OK) {
        code = number_of(own, MAX_DISTANCE, own->description.distance, &distance);
    }
    if (code == SQLITE_OK) {
        code = number_of(own, MAX_MATCHES, -1, &limit);
    }
    if (code != SQLITE_OK || limit == 0) {
        return code;
    }
    hamdex_error *error = NULL;
    uint32_t flags = own->description.has_names ? HAMDEX_NAMES : own->description.has_ids ? HAMDEX_IDS : 0;
    hamdex_status status =
        hamdex_searcher_query(own->searcher, query, (size_t)length, distance > UINT32_MAX ? UINT32_MAX : (uint32_t)distance,
                              limit < 0 ? 0 : (uint64_t)limit, flags, &own->matches, &error);
    if (status != HAMDEX_OK) {
        return failed(base->pVtab, status, error);
    }
    own->match = own->id = 0;
    settle(own);
    return SQLITE_OK;
}

static int next(sqlite3_vtab_cursor *base)
{
    cursor *own = (cursor *)base;
    if (own->description.has_ids) {
        own->id++;
        settle(own);
    } else {
        own->match++;
    }
    return SQLITE_OK;
}

static int eof(sqlite3_vtab_cursor *base)
{
    cursor *own = (cursor *)base;
    return own->matches == NULL || own->match >= own->matches->count;
}

static void append(sqlite3_str *to, const void *bytes, sqlite3_uint64 length)
{
    sqlite3_str_append(to, bytes, (int)length);
}

/* Appends a value so that different ones have different bytes, whatever follows. */
static void append_value(sqlite3_str *to, sqlite3_value *value)
{
    int type = value == NULL ? SQLITE_NULL : sqlite3_value_type(value);
    sqlite3_str_appendchar(to, 1, (char)type);
    if (type == SQLITE_INTEGER) {
        sqlite3_int64 number = sqlite3_value_int64(value);
        append(to, &number, sizeof number);
    } else if (type == SQLITE_FLOAT) {
        double number = sqlite3_value_double(value);
        append(to, &number, sizeof number);
    } else if (type != SQLITE_NULL) {
        const void *bytes = type == SQLITE_BLOB ? sqlite3_value_blob(value) : sqlite3_value_text(value);
        int length = sqlite3_value_bytes(value);
        append(to, &length, sizeof length);
        append(to, bytes, (sqlite3_uint64)length);
    }
}

/* The arguments and the contents of a row: a scan with the same arguments gives it again, and no other row has it. */
static void row_key(const cursor *own, sqlite3_context *context)
{
    const hamdex_matches *matches = own->matches;
    sqlite3_str *key = sqlite3_str_new(NULL);
    for (int i = 0; i < ARGUMENTS; i++) {
        append_value(key, own->arguments[i]);
    }
    append(key, matches->fingerprints + own->match * matches->fingerprint_bytes, matches->fingerprint_bytes);
    if (own->description.has_ids) {
        append(key, &matches->ids[own->id], sizeof matches->ids[own->id]);
        append(key, &matches->parts[own->id], sizeof matches->parts[own->id]);
    }
    int length = sqlite3_str_length(key);
    char *bytes = sqlite3_str_finish(key);
    if (bytes == NULL) {
        sqlite3_result_error_nomem(context);
    } else {
        sqlite3_result_blob(context, bytes, length, sqlite3_free);
    }
}

static int column(sqlite3_vtab_cursor *base, sqlite3_context *context, int number)
{
    cursor *own = (cursor *)base;
    const hamdex_matches *matches = own->matches;
    switch (number) {
    case ID:
        if (own->description.has_ids) {
            sqlite3_result_int64(context, (sqlite3_int64)matches->ids[own->id]);
        }
        break;
    case DISTANCE:
        sqlite3_result_int64(context, matches->distances[own->match]);
        break;
    case FINGERPRINT:
        sqlite3_result_blob(context, matches->fingerprints + own->match * matches->fingerprint_bytes,
                            (int)matches->fingerprint_bytes, SQLITE_TRANSIENT);
        break;
    case NAME:
        if (own->description.has_names) {
            uint64_t start = matches->name_starts[own->id], end = matches->name_starts[own->id + 1];
            sqlite3_result_text64(context, matches->names + start, end - start, SQLITE_TRANSIENT, SQLITE_UTF8);
        }
        break;
    case PART:
        if (own->description.has_ids) {
            sqlite3_result_int64(context, matches->parts[own->id]);
        }
        break;
    case KEY:
        row_key(own, context);
        break;
    default:
        if (own->arguments[number - PATH] != NULL) {
            sqlite3_result_value(context, own->arguments[number - PATH]);
        }
    }
    return SQLITE_OK;
}

/* Never called: the table has no row ids. */
static int rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *row)
{
    (void)base, (void)row;
    return SQLITE_ERROR;
}

/* Eponymous only: there is no xCreate, so the table is always there and is never created. */
static sqlite3_module module = {
    .xConnect = connect,
    .xBestIndex = best_index,
    .xDisconnect = disconnect,
    .xOpen = open_cursor,
    .xClose = close_cursor,
    .xFilter = filter,
    .xNext = next,
    .xEof = eof,
    .xColumn = column,
    .xRowid = rowid,
};

/* ---- hamdex_build(path, fingerprint, id, distance) ---- */

/* The rows that an aggregate has collected. */
typedef struct {
    char *path;
    int fingerprint_bytes;
    /* For which the file is made; 0 if none is given. */
    sqlite3_int64 distance;
    /* The type of the ids: SQLITE_INTEGER, SQLITE_TEXT for names, SQLITE_NULL for none. */
    int id_type;
    bool has_failed;
    sqlite3_uint64 count;
    sqlite3_str *fingerprints, *ids, *names, *name_starts;
} collected;

static void give_up(sqlite3_context *context, collected *all, const char *why)
{
    all->has_failed = true;
    sqlite3_result_error(context, why, -1);
}

/* Whether a value is a distance of fingerprints of so many bytes, or null for the default. */
static bool is_distance(sqlite3_value *value, int fingerprint_bytes)
{
    sqlite3_int64 distance = sqlite3_value_int64(value);
    return sqlite3_value_type(value) == SQLITE_NULL
           || (sqlite3_value_type(value) == SQLITE_INTEGER && distance >= 1 && distance <= 8 * (sqlite3_int64)fingerprint_bytes);
}

static void build_step(sqlite3_context *context, int count, sqlite3_value **values)
{
    collected *all = sqlite3_aggregate_context(context, sizeof *all);
    uint8_t bytes[MAX_BYTES];
    int length = bytes_of(values[1], bytes);
    if (all == NULL) {
        sqlite3_result_error_nomem(context);
        return;
    }
    if (all->has_failed || length == 0) {
        return;
    }
    /* A distance needs something in the place of the ids. */
    bool may_lack_ids = count != 3;
    int id_type = count >= 3 ? sqlite3_value_type(values[2]) : SQLITE_NULL;
    sqlite3_int64 distance = count == 4 ? sqlite3_value_int64(values[3]) : 0;
    bool is_null = sqlite3_value_type(values[0]) == SQLITE_NULL;
    const char *path = (const char *)sqlite3_value_text(values[0]);
    if (path == NULL && !is_null) {
        all->has_failed = true;
        sqlite3_result_error_nomem(context);
        return;
    }
    if (all->path == NULL) {
        all->path = path == NULL ? NULL : sqlite3_mprintf("%s", path);
        all->fingerprint_bytes = length;
        all->id_type = id_type;
        all->distance = distance;
        all->fingerprints = sqlite3_str_new(NULL);
        all->ids = sqlite3_str_new(NULL);
        all->names = sqlite3_str_new(NULL);
        all->name_starts = sqlite3_str_new(NULL);
        uint64_t zero = 0;
        append(all->name_starts, &zero, sizeof zero);
        if (path == NULL) {
            give_up(context, all, "hamdex_build: the path is null");
            return;
        }
        if (all->path == NULL) {
            all->has_failed = true;
            sqlite3_result_error_nomem(context);
            return;
        }
    }
    if (path == NULL || strcmp(path, all->path) != 0) {
        give_up(context, all, "hamdex_build: the rows give different paths: GROUP BY the path builds a file of each");
    } else if (is_cut(values[0], path)) {
        give_up(context, all, "hamdex_build: the path has a zero byte");
    } else if (length < 0 || length != all->fingerprint_bytes || (length != 8 && length != 16)) {
        give_up(context, all, "hamdex_build: fingerprints have 8 bytes, or all have 16");
    } else if (id_type != all->id_type || (!may_lack_ids && id_type == SQLITE_NULL)
               || id_type == SQLITE_FLOAT || id_type == SQLITE_BLOB) {
        give_up(context, all, "hamdex_build: ids are integers, or all are texts");
    } else if (count == 4 && !is_distance(values[3], length)) {
        give_up(context, all, "hamdex_build: the distance is an integer from 1 to the bits of a fingerprint, or null");
    } else if (distance != all->distance) {
        give_up(context, all, "hamdex_build: the rows give different distances");
    } else {
        append(all->fingerprints, bytes, (sqlite3_uint64)length);
        if (id_type == SQLITE_INTEGER) {
            uint64_t id = (uint64_t)sqlite3_value_int64(values[2]);
            append(all->ids, &id, sizeof id);
        } else if (id_type == SQLITE_TEXT) {
            append(all->names, sqlite3_value_text(values[2]), (sqlite3_uint64)sqlite3_value_bytes(values[2]));
            uint64_t end = (uint64_t)sqlite3_str_length(all->names);
            append(all->name_starts, &end, sizeof end);
        }
        all->count++;
    }
}

static void build_end(sqlite3_context *context)
{
    collected *all = sqlite3_aggregate_context(context, 0);
    if (all == NULL || all->fingerprints == NULL) {
        /* No path is known without a row. */
        sqlite3_result_int64(context, 0);
        return;
    }
    sqlite3_str *lists[] = {all->fingerprints, all->ids, all->names, all->name_starts};
    bool is_whole = true;
    for (int i = 0; i < 4; i++) {
        is_whole = is_whole && sqlite3_str_errcode(lists[i]) == SQLITE_OK;
    }
    if (!all->has_failed && !is_whole) {
        give_up(context, all, "hamdex_build: out of memory, or more than a value of SQLite holds: see SQLITE_MAX_LENGTH");
    }
    if (!all->has_failed) {
        hamdex_error *error = NULL;
        hamdex_records records = {
            .size = sizeof records,
            .count = all->count,
            .fingerprints = (const uint8_t *)sqlite3_str_value(all->fingerprints),
            .fingerprint_bytes = (uint32_t)all->fingerprint_bytes,
        };
        if (all->id_type == SQLITE_INTEGER) {
            records.ids = (const uint64_t *)(const void *)sqlite3_str_value(all->ids);
        } else if (all->id_type == SQLITE_TEXT) {
            records.names = sqlite3_str_value(all->names);
            records.names = records.names == NULL ? "" : records.names;
            records.name_starts = (const uint64_t *)(const void *)sqlite3_str_value(all->name_starts);
        }
        hamdex_build_options options = {.size = sizeof options, .distance = (uint32_t)all->distance};
        if (hamdex_build(all->path, strlen(all->path), &records, &options, NULL, &error) != HAMDEX_OK) {
            give_up(context, all, error == NULL ? "hamdex_build: no message" : error->message);
            hamdex_error_free(error);
        } else {
            sqlite3_result_int64(context, (sqlite3_int64)all->count);
        }
    }
    for (int i = 0; i < 4; i++) {
        sqlite3_free(sqlite3_str_finish(lists[i]));
    }
    sqlite3_free(all->path);
}

/* ---- loading ---- */

#ifdef _WIN32
__declspec(dllexport)
#else
__attribute__((visibility("default")))
#endif
int sqlite3_hamdex_init(sqlite3 *db, char **message, const sqlite3_api_routines *api)
{
    SQLITE_EXTENSION_INIT2(api);
    if (hamdex_abi_version() != HAMDEX_ABI_VERSION) {
        *message = sqlite3_mprintf("hamdex: the library has version %d of its interface, not %d", (int)hamdex_abi_version(),
                                   HAMDEX_ABI_VERSION);
        return SQLITE_ERROR;
    }
    int plain = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS;
    /* It writes a file: only the statement of a user may. */
    int direct = SQLITE_UTF8 | SQLITE_DIRECTONLY;
    int code = sqlite3_create_function(db, "hamming", 2, plain, NULL, hamming, NULL, NULL);
    for (int arguments = 2; code == SQLITE_OK && arguments <= 4; arguments++) {
        code = sqlite3_create_function(db, "hamdex_build", arguments, direct, NULL, NULL, build_step, build_end);
    }
    if (code == SQLITE_OK) {
        code = sqlite3_create_module(db, "hamdex", &module, NULL);
    }
    /* Threads of the library may outlive the connection: its code stays where it is. */
    return code == SQLITE_OK ? SQLITE_OK_LOAD_PERMANENTLY : code;
}
