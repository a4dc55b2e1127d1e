// Does with cgo what near.c does in C. The directory is the argument. Compiled with the flags of pkg-config.
package main

// #cgo pkg-config: hamdex
// #include <hamdex.h>
// #include <stdlib.h>
//
// extern int onPairs(void *context, uint8_t *left, uint8_t *right, uint32_t *distances, uint64_t count);
//
// static hamdex_status pairs(const hamdex_set *set, uint32_t distance, uintptr_t context, hamdex_error **error)
// {
//     return hamdex_set_pairs(set, distance, NULL, (hamdex_on_pairs)onPairs, (void *)context, error);
// }
import "C"

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/cgo"
	"unsafe"
)

// Failure is the error of a call.
type Failure struct {
	Status, System int32
	Message        string
}

func (failure *Failure) Error() string { return failure.Message }

// call makes a call whose last argument takes an error.
func call(function func(**C.hamdex_error) C.hamdex_status) error {
	var failed *C.hamdex_error
	if status := function(&failed); status != C.HAMDEX_OK {
		return take(failed)
	}
	return nil
}

func take(failed *C.hamdex_error) error {
	defer C.hamdex_error_free(failed)
	message := C.GoStringN(failed.message, C.int(failed.message_length))
	return &Failure{int32(failed.status), int32(failed.os_code), message}
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "near:", err)
		os.Exit(1)
	}
}

// cBytes copies bytes to memory of C, which structures that C reads may point to.
func cBytes(bytes []byte) *C.uint8_t { return (*C.uint8_t)(C.CBytes(bytes)) }

func bytesOf(fingerprints []uint64) []byte {
	var bytes []byte
	for _, fingerprint := range fingerprints {
		bytes = binary.BigEndian.AppendUint64(bytes, fingerprint)
	}
	return bytes
}

// withRecords calls work with records in memory of C.
func withRecords(fingerprints, ids []uint64, work func(*C.hamdex_records)) {
	var of C.hamdex_records
	of.size = C.size_t(unsafe.Sizeof(of))
	of.count = C.uint64_t(len(fingerprints))
	of.fingerprints = cBytes(bytesOf(fingerprints))
	of.fingerprint_bytes = 8
	numbers := (*[1 << 20]C.uint64_t)(C.malloc(C.size_t(8 * len(ids))))[:len(ids):len(ids)]
	for i, id := range ids {
		numbers[i] = C.uint64_t(id)
	}
	of.ids = &numbers[0]
	defer C.free(unsafe.Pointer(of.fingerprints))
	defer C.free(unsafe.Pointer(of.ids))
	work(&of)
}

func printMatches(matches *C.hamdex_matches) {
	starts := unsafe.Slice(matches.query_starts, matches.queries+1)
	idStarts := unsafe.Slice(matches.id_starts, matches.count+1)
	idCounts := unsafe.Slice(matches.id_counts, matches.count)
	distances := unsafe.Slice(matches.distances, matches.count)
	ids := unsafe.Slice(matches.ids, matches.ids_count)
	for query := 0; query < int(matches.queries); query++ {
		fmt.Printf("query %d:", query)
		for m := starts[query]; m < starts[query+1]; m++ {
			for i := idStarts[m]; i < idStarts[m+1]; i++ {
				fmt.Printf(" id %d at %d", ids[i], distances[m])
			}
			if listed := idStarts[m+1] - idStarts[m]; idCounts[m] > listed {
				fmt.Printf(" and %d more", idCounts[m]-listed)
			}
		}
		fmt.Println()
	}
}

//export onPairs
func onPairs(context unsafe.Pointer, left, right *C.uint8_t, distances *C.uint32_t, count C.uint64_t) C.int {
	calls := cgo.Handle(uintptr(context)).Value().(*int)
	*calls++
	fmt.Printf("pair: %x %x, %d apart\n", C.GoBytes(unsafe.Pointer(left), 8), C.GoBytes(unsafe.Pointer(right), 8), *distances)
	return 1
}

func files(path string) {
	numbers := []uint64{0x0123456789abcdef, 0x0123456789abcdee, 0xffff0000ffff0000}
	name := C.CString(path)
	defer C.free(unsafe.Pointer(name))
	withRecords(numbers, []uint64{17, 18, 19}, func(records *C.hamdex_records) {
		must(call(func(failed **C.hamdex_error) C.hamdex_status {
			return C.hamdex_build(name, C.size_t(len(path)), records, nil, nil, failed)
		}))
	})
	var set *C.hamdex_set
	must(call(func(failed **C.hamdex_error) C.hamdex_status {
		return C.hamdex_open(name, C.size_t(len(path)), 0, &set, failed)
	}))
	defer C.hamdex_set_close(set)
	var description C.hamdex_description
	description.size = C.size_t(unsafe.Sizeof(description))
	must(call(func(failed **C.hamdex_error) C.hamdex_status {
		return C.hamdex_set_describe(set, &description, failed)
	}))
	fmt.Printf("%d fingerprints of %d bits\n", description.fingerprints, description.width)

	var searcher *C.hamdex_searcher
	must(call(func(failed **C.hamdex_error) C.hamdex_status {
		return C.hamdex_searcher_open(set, &searcher, failed)
	}))
	queries := bytesOf(numbers)
	query := (*C.uint8_t)(unsafe.Pointer(&queries[0]))
	var matches *C.hamdex_matches
	must(call(func(failed **C.hamdex_error) C.hamdex_status {
		return C.hamdex_searcher_query(searcher, query, 8, 3, 0, C.HAMDEX_IDS, &matches, failed)
	}))
	printMatches(matches)
	C.hamdex_searcher_close(searcher)
	must(call(func(failed **C.hamdex_error) C.hamdex_status {
		return C.hamdex_set_batch(set, query, 8, 3, 3, 1, C.HAMDEX_IDS, nil, &matches, failed)
	}))
	runtime.KeepAlive(queries)
	printMatches(matches)
	C.hamdex_matches_free(matches)

	calls := 0
	context := cgo.NewHandle(&calls)
	defer context.Delete()
	err := call(func(failed **C.hamdex_error) C.hamdex_status {
		return C.pairs(set, 3, C.uintptr_t(context), failed)
	})
	fmt.Printf("pairs: status %d after %d call\n", err.(*Failure).Status, calls)
}

func stores(path string) {
	name := C.CString(path)
	defer C.free(unsafe.Pointer(name))
	var options C.hamdex_create_options
	options.size = C.size_t(unsafe.Sizeof(options))
	options.flags = C.HAMDEX_WITH_IDS
	var store *C.hamdex_store
	must(call(func(failed **C.hamdex_error) C.hamdex_status {
		return C.hamdex_store_create(name, C.size_t(len(path)), &options, nil, &store, failed)
	}))
	withRecords([]uint64{0xff, 0xfe}, []uint64{1, 2}, func(records *C.hamdex_records) {
		var inserted, removed C.uint64_t
		var near *C.hamdex_matches
		must(call(func(failed **C.hamdex_error) C.hamdex_status {
			return C.hamdex_store_insert_unless_near(store, records, 3, &inserted, &near, failed)
		}))
		fmt.Printf("inserted %d\n", inserted)
		printMatches(near)
		C.hamdex_matches_free(near)
		records.count = 1
		must(call(func(failed **C.hamdex_error) C.hamdex_status {
			return C.hamdex_store_remove(store, records, &removed, failed)
		}))
		must(call(func(failed **C.hamdex_error) C.hamdex_status { return C.hamdex_store_close(store, failed) }))
		fmt.Printf("removed %d\n", removed)
	})
}

func main() {
	if len(os.Args) != 2 || C.hamdex_abi_version() != C.HAMDEX_ABI_VERSION {
		os.Exit(2)
	}
	files(filepath.Join(os.Args[1], "news.hamdex"))
	stores(filepath.Join(os.Args[1], "pages.store"))
	path := filepath.Join(os.Args[1], "missing.hamdex")
	name := C.CString(path)
	defer C.free(unsafe.Pointer(name))
	var set *C.hamdex_set
	err := call(func(failed **C.hamdex_error) C.hamdex_status {
		return C.hamdex_open(name, C.size_t(len(path)), 0, &set, failed)
	})
	fmt.Printf("missing: status %d, system %d\n", err.(*Failure).Status, err.(*Failure).System)
}
