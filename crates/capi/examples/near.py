"""Does with ctypes what near.c does in C. The directory is the argument; HAMDEX_LIBRARY names the library."""

import ctypes as c
import os
import sys

IDS, WITH_IDS, ABI = 1, 1, 2


class Error(c.Structure):
    _fields_ = [("status", c.c_int32), ("os_code", c.c_int32), ("message", c.c_char_p), ("message_length", c.c_uint64)]


class Records(c.Structure):
    _fields_ = [
        ("size", c.c_size_t),
        ("count", c.c_uint64),
        ("fingerprints", c.c_char_p),
        ("fingerprint_bytes", c.c_uint32),
        ("reserved", c.c_uint32),
        ("ids", c.POINTER(c.c_uint64)),
        ("names", c.c_char_p),
        ("name_starts", c.POINTER(c.c_uint64)),
    ]


class Description(c.Structure):
    _fields_ = [
        ("size", c.c_size_t),
        ("kind", c.c_uint32),
        ("width", c.c_uint32),
        ("distance", c.c_uint32),
        ("is_counted", c.c_bool),
        ("has_ids", c.c_bool),
        ("has_names", c.c_bool),
        ("reserved", c.c_uint8),
        ("fingerprints", c.c_uint64),
        ("design", c.c_void_p),
        ("design_length", c.c_uint64),
        ("codec", c.c_void_p),
        ("codec_length", c.c_uint64),
    ]


class Matches(c.Structure):
    _fields_ = [
        ("queries", c.c_uint64),
        ("count", c.c_uint64),
        ("ids_count", c.c_uint64),
        ("query_starts", c.POINTER(c.c_uint64)),
        ("fingerprints", c.POINTER(c.c_uint8)),
        ("distances", c.POINTER(c.c_uint32)),
        ("id_starts", c.POINTER(c.c_uint64)),
        ("id_counts", c.POINTER(c.c_uint64)),
        ("ids", c.POINTER(c.c_uint64)),
        ("parts", c.POINTER(c.c_uint32)),
        ("name_starts", c.POINTER(c.c_uint64)),
        ("names", c.c_void_p),
        ("fingerprint_bytes", c.c_uint32),
        ("reserved", c.c_uint32),
    ]


class CreateOptions(c.Structure):
    _fields_ = [
        ("size", c.c_size_t),
        ("width", c.c_uint32),
        ("distance", c.c_uint32),
        ("flags", c.c_uint32),
        ("reserved", c.c_uint32),
        ("design", c.c_char_p),
        ("design_length", c.c_size_t),
        ("codec", c.c_char_p),
        ("codec_length", c.c_size_t),
    ]


OnPairs = c.CFUNCTYPE(
    c.c_int, c.c_void_p, c.POINTER(c.c_uint8), c.POINTER(c.c_uint8), c.POINTER(c.c_uint32), c.c_uint64
)
library = c.CDLL(os.environ.get("HAMDEX_LIBRARY", "libhamdex.so"))
handle, text, place = c.c_void_p, c.c_char_p, c.POINTER(c.c_void_p)
matches_place, number_place = c.POINTER(c.POINTER(Matches)), c.POINTER(c.c_uint64)
for name, arguments in {
    "build": [text, c.c_size_t, c.POINTER(Records), c.c_void_p, c.c_void_p],
    "open": [text, c.c_size_t, c.c_uint32, place],
    "set_describe": [handle, c.POINTER(Description)],
    "set_batch": [handle, text, c.c_size_t, c.c_uint64, c.c_uint32, c.c_uint64, c.c_uint32, c.c_void_p, matches_place],
    "set_pairs": [handle, c.c_uint32, c.c_void_p, OnPairs, c.c_void_p],
    "searcher_open": [handle, place],
    "searcher_query": [handle, text, c.c_size_t, c.c_uint32, c.c_uint64, c.c_uint32, matches_place],
    "store_create": [text, c.c_size_t, c.POINTER(CreateOptions), c.c_void_p, place],
    "store_insert_unless_near": [handle, c.POINTER(Records), c.c_uint32, number_place, matches_place],
    "store_remove": [handle, c.POINTER(Records), number_place],
    "store_close": [handle],
}.items():
    getattr(library, "hamdex_" + name).argtypes = [*arguments, c.POINTER(c.POINTER(Error))]
for name, argument in {
    "set_close": handle,
    "searcher_close": handle,
    "matches_free": c.POINTER(Matches),
    "error_free": c.POINTER(Error),
}.items():
    getattr(library, "hamdex_" + name).argtypes = [argument]


class HamdexError(Exception):
    def __init__(self, status: int, os_code: int, message: str):
        super().__init__(message)
        self.status, self.os_code = status, os_code


def call(name: str, *arguments):
    """Calls a function whose last argument takes an error, and raises that."""
    error = c.POINTER(Error)()
    status = getattr(library, "hamdex_" + name)(*arguments, c.byref(error))
    if status:
        told = error.contents
        failure = HamdexError(status, told.os_code, c.string_at(told.message, told.message_length).decode())
        library.hamdex_error_free(error)
        raise failure


def records(fingerprints: list[int], ids: list[int]) -> Records:
    return Records(
        size=c.sizeof(Records),
        count=len(fingerprints),
        fingerprints=b"".join(number.to_bytes(8, "big") for number in fingerprints),
        fingerprint_bytes=8,
        ids=(c.c_uint64 * len(ids))(*ids),
    )


def print_matches(pointer) -> None:
    matches = pointer.contents
    for query in range(matches.queries):
        found = range(matches.query_starts[query], matches.query_starts[query + 1])
        line = f"query {query}:"
        for m in found:
            listed = range(matches.id_starts[m], matches.id_starts[m + 1])
            line += "".join(f" id {matches.ids[i]} at {matches.distances[m]}" for i in listed)
            if matches.id_counts[m] > len(listed):
                line += f" and {matches.id_counts[m] - len(listed)} more"
        print(line)


def files(path: bytes) -> None:
    numbers = [0x0123456789ABCDEF, 0x0123456789ABCDEE, 0xFFFF0000FFFF0000]
    given = records(numbers, [17, 18, 19])
    call("build", path, len(path), given, None, None)
    opened, searcher, matches = handle(), handle(), c.POINTER(Matches)()
    call("open", path, len(path), 0, opened)
    description = Description(size=c.sizeof(Description))
    call("set_describe", opened, description)
    print(f"{description.fingerprints} fingerprints of {description.width} bits")

    call("searcher_open", opened, searcher)
    call("searcher_query", searcher, given.fingerprints, 8, 3, 0, IDS, matches)
    print_matches(matches)
    library.hamdex_searcher_close(searcher)
    call("set_batch", opened, b"".join(n.to_bytes(8, "big") for n in numbers), 8, 3, 3, 1, IDS, None, matches)
    print_matches(matches)
    library.hamdex_matches_free(matches)

    calls = []

    @OnPairs
    def on_pairs(_, left, right, distances, count):
        calls.append(count)
        both = (bytes(left[:8]).hex(), bytes(right[:8]).hex())
        print(f"pair: {both[0]} {both[1]}, {distances[0]} apart")
        return 1

    try:
        call("set_pairs", opened, 3, None, on_pairs, None)
    except HamdexError as stopped:
        print(f"pairs: status {stopped.status} after {len(calls)} call")
    library.hamdex_set_close(opened)


def stores(path: bytes) -> None:
    store, near = handle(), c.POINTER(Matches)()
    inserted, removed = c.c_uint64(), c.c_uint64()
    options = CreateOptions(size=c.sizeof(CreateOptions), flags=WITH_IDS)
    call("store_create", path, len(path), options, None, store)
    pages = records([0xFF, 0xFE], [1, 2])
    call("store_insert_unless_near", store, pages, 3, inserted, near)
    print(f"inserted {inserted.value}")
    print_matches(near)
    library.hamdex_matches_free(near)
    pages.count = 1
    call("store_remove", store, pages, removed)
    call("store_close", store)
    print(f"removed {removed.value}")


def main() -> None:
    if library.hamdex_abi_version() != ABI:
        sys.exit(2)
    directory = os.fsencode(sys.argv[1])
    files(os.path.join(directory, b"news.hamdex"))
    stores(os.path.join(directory, b"pages.store"))
    missing = os.path.join(directory, b"missing.hamdex")
    try:
        call("open", missing, len(missing), 0, handle())
    except HamdexError as error:
        print(f"missing: status {error.status}, system {error.os_code}")


main()
