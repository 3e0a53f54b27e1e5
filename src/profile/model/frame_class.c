/*
 * See frame_class.h. The lists were made from the stacks of real programs.
 */
#include "profile/model/frame_class.h"

#include <stdbool.h>
#include <string.h>

#include "rt/base.h"
#include "rt/text.h"
#include "util/cxx_name.h"

/*
 * '*' stands for any characters. Names are grouped by origin: each group was taken from the stacks
 * of its programs.
 */
static const char *const allocator_names[] = {
    /* C, and common wrappers of its functions */
    "malloc",
    "calloc",
    "realloc",
    "reallocarray",
    "memalign",
    "posix_memalign",
    "aligned_alloc",
    "valloc",
    "pvalloc",
    "__libc_*alloc",
    "strdup",
    "strndup",
    "__strdup",
    "__strndup",
    "wcsdup",
    "asprintf",
    "vasprintf",
    "__vasprintf*",
    "xmalloc*",
    "xcalloc",
    "xrealloc*",
    "xzalloc",
    "xalloc*",
    "x2realloc",
    "x2nrealloc",
    "xnmalloc",
    "xnrealloc",
    "xpalloc",
    "xstrdup",
    "xstrndup",
    "xmemdup*",
    "xasprintf",
    "safe_malloc",
    "safe_calloc",
    "safe_realloc",
    "do_xmalloc*",
    "je_*alloc*",
    "_rjem_je_*alloc*",
    "tc_*alloc*",
    "mi_*alloc*",
    "_obstack_*",
    "rpl_malloc",
    "rpl_calloc",
    "rpl_realloc",
    "ireallocarray",
    /* libraries */
    "g_malloc*",
    "g_realloc*",
    "g_try_*alloc*",
    "g_slice_alloc*",
    "g_strdup",
    "g_strndup",
    "g_memdup*",
    "g_aligned_alloc*",
    "CRYPTO_*alloc*",
    "CRYPTO_strdup",
    "CRYPTO_memdup",
    "OPENSSL_*alloc*",
    "zmalloc*",
    "zcalloc*",
    "zrealloc*",
    "ztrymalloc*",
    "ztrycalloc*",
    "ztryrealloc*",
    "zstrdup",
    "sqlite3*Malloc*",
    "sqlite3*Realloc*",
    "sqlite3_malloc*",
    "sqlite3_realloc*",
    "dbMallocRawFinish",
    "sqlite3DbStrDup",
    "sqlite3DbStrNDup",
    "PyMem_*",
    "PyObject_Malloc",
    "PyObject_Calloc",
    "PyObject_Realloc",
    "_PyMem_*",
    "_PyObject_Malloc",
    "_PyObject_Calloc",
    "_PyObject_Realloc",
    "pymalloc_*",
    "new_arena",
    "arena_map_*",
    "allocate_from_new_pool",
    "gc_alloc",
    "_PyObject_GC_New*",
    "_PyObject_New*",
    "_PyType_AllocNoTrack",
    "PyType_GenericAlloc",
    "PyObject_New",
    "_PyObject_GC_Malloc",
    "_PyObject_GC_Alloc",
    "Perl_safesys*",
    "Perl_my_*alloc*",
    "jv_mem_*alloc*",
    "jv_mem_strdup*",
    "palloc*",
    "repalloc*",
    "pg_malloc*",
    "AllocSetAlloc*",
    "AllocSetRealloc",
    "MemoryContextAlloc*",
    "apr_palloc*",
    "apr_pcalloc*",
    "allocator_alloc",
    "objalloc_create",
    "_objalloc_alloc",
    "bfd_malloc*",
    "bfd_zmalloc*",
    "bfd_realloc*",
    "bfd_alloc*",
    "bfd_zalloc*",
    "av_malloc*",
    "av_realloc*",
    "av_mallocz*",
    "ruby_x*alloc*",
    "objspace_x*alloc*",
    "gs_heap_*alloc*",
    "gs_malloc*",
    "ggc_internal_*alloc*",
    "ggc_alloc_*",
    "xmlMallocLoc",
    "xmlStrdup",
    "xmlStrndup",
    /* libheapscope, also in its weak form */
    "heapscope_report_*",
    "heapscope_pool_*",
    "heapscope_weak_*",
    "AHeapProfile_report*",
    /* C++ */
    "allocate_buffer",
    "allocate_at_least",
    "__libcpp_allocate*",
    "__libcpp_operator_new*",
    "_Znwm*",
    "_Znam*",
    /* Rust */
    "__rust_alloc*",
    "__rust_realloc",
    "__rg_*alloc*",
    "__rdl_*alloc*",
    "exchange_malloc",
    "box_free",
    "finish_grow*",
    "__rustc::__r*_alloc*",
};

/* Members of std:: that allocate memory, by the last component of their name. */
static const char *const std_allocator_names[] = {
    "allocate",          "_M_allocate*",      "_S_allocate*",        "_M_create",
    "_S_create",         "_M_get_node",       "_M_create_node*",     "_M_create_storage",
    "_M_initialize_map", "_M_reallocate_map", "__allocate_guarded*", "__allocate_at_least*",
    "__construct_node*", "__vallocate*",
};

/* Name spaces whose functions all allocate. */
static const char *const allocator_paths[] = {
    "alloc::alloc::",
    "<alloc::alloc::Global",
    "alloc::raw_vec::",
    "__rustc::",
    "llvm::BumpPtrAllocatorImpl<",
    "llvm::safe_malloc",
    "llvm::safe_realloc",
    "llvm::safe_calloc",
    "llvm::MallocAllocator::",
    "llvm::SmallVectorBase<",
    "llvm::allocate_buffer",
    "heapscope::", /* heapscope.hpp */
};

static const char *const library_paths[] = {
    "std::",   "__gnu_cxx::", "__cxxabiv1::", "core::",        "alloc::",       "<std::",
    "<core::", "<alloc::",    "<T as core::", "<T as alloc::", "<&T as core::",
};

static const char *const library_modules[] = {
    "libc.so",      "libc-2.",   "libc.musl",      "ld-linux",    "ld-2.",          "ld-musl",
    "libstdc++.so", "libc++.so", "libc++abi.so",   "libgcc_s.so", "libpthread",     "libm.so",
    "libdl.so",     "librt.so",  "libjemalloc.so", "libtcmalloc", "libmimalloc.so",
};

/* A frame without a name in these libraries can only be part of an allocation. */
static const char *const allocator_modules[] = { "libjemalloc", "libtcmalloc", "libmimalloc" };

/* The same of any frame in the library with our pools. */
static const char *const pool_modules[] = { "libheapscope.so" };

static const char *const start_names[] = {
    "_start",
    "__libc_start_main*",
    "__libc_start_call_main",
    "start_thread",
    "clone",
    "clone3",
    "__clone",
    "__clone3",
    "_dl_start_user",
    "thread_start",
    "execute_native_thread_routine",

    "call_init*",
    "_dl_init",
    "__libc_csu_init",
    "_dl_start",
    "generic_start_main*",
};

/*
 * Functions of recorders between the malloc that a program calls and the code that takes the stack.
 * In their files, names may be mangled as in symbol tables.
 */
static const char *const recorder_names[] = {
    /* heapprofd */
    "_ZN8perfetto9profiling6Client*",
    "_ZN8perfetto9profiling12_GLOBAL__N_1*",
    "perfetto::profiling::Client::*",
    "perfetto::profiling::(anonymous namespace)::*",
    "perfetto::profiling::*::RecordMalloc*",
    "AHeapProfile_report*",
    "heapprofd_*",
    /* jemalloc */
    "prof_backtrace*",
    "prof_alloc_prep*",
    "prof_malloc_sample*",
    "prof_tctx_get*",
    "je_prof_*",
    "_rjem_je_prof_*",
    /* tcmalloc and gperftools */
    "tcmalloc::*",
    "_ZN8tcmalloc*",
    "_ZN10MallocHook*",
    "_ZN16HeapProfileTable*",
    "(anonymous namespace)::DoSampledAllocation*",
    "DoSampledAllocation*",
    "GetStackTrace*",
    "MallocHook::*",
    "MallocHook_*",
    "HeapProfileTable::*",
    /* heaptrack */
    "heaptrack_*",
    "HeapTrack::*",
    "_ZN9HeapTrack*",
    "_ZN12_GLOBAL__N_19HeapTrack*",
    "(anonymous namespace)::HeapTrack::*",
};

/* Allocators whose libraries often have only the names of exported functions. */
static const char *const recording_allocators[] = { "libjemalloc.so", "libtcmalloc" };

/*
 * Libraries of recorders; all of their code counts. heapscope's own was in stacks of early
 * versions.
 */
static const char *const recorder_modules[] = {
    "libheapscope", "heapprofd_client", "libheapprofd", "libheaptrack_", "libprofiler.so",
};

/* True when the pattern matches. Each '*' in it stands for any run of characters. */
static bool is_match(const char *pattern, const char *text, size_t bytes)
{
    while (*pattern != '\0' && *pattern != '*') {
        if (bytes == 0 || *pattern != *text) {
            return false;
        }
        pattern++;
        text++;
        bytes--;
    }
    if (*pattern == '\0') {
        return bytes == 0;
    }
    pattern++;
    if (*pattern == '\0') {
        return true;
    }
    for (; bytes > 0; text++, bytes--) {
        if (is_match(pattern, text, bytes)) {
            return true;
        }
    }
    return false;
}

static bool is_in(const char *text, size_t bytes, const char *const *patterns, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (is_match(patterns[i], text, bytes)) {
            return true;
        }
    }
    return false;
}

static bool has_prefix(const char *text, const char *const *prefixes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (hs_text_starts_with(text, prefixes[i])) {
            return true;
        }
    }
    return false;
}

enum hs_frame_class hs_frame_class_of(const char *name, const char *module_path)
{
    const char *module = hs_text_base_name(module_path);
    const char *path = hs_cxx_skip_result_type(name);
    size_t last_bytes;
    const char *last = hs_cxx_last_component(name, &last_bytes);
    bool is_top = last == path;

    if (name[0] == '[') {
        return HS_FRAME_CLASS_MARKER;
    }
    if (is_top && is_in(path, strcspn(path, "@"), start_names, HS_COUNT_OF(start_names))) {
        return HS_FRAME_CLASS_START;
    }
    bool is_library_name = has_prefix(path, library_paths, HS_COUNT_OF(library_paths));
    if (hs_text_starts_with(last, "operator new") ||
        (is_top && is_in(last, last_bytes, allocator_names, HS_COUNT_OF(allocator_names))) ||
        (is_library_name &&
         is_in(last, last_bytes, std_allocator_names, HS_COUNT_OF(std_allocator_names))) ||
        has_prefix(path, allocator_paths, HS_COUNT_OF(allocator_paths)) ||
        has_prefix(module, pool_modules, HS_COUNT_OF(pool_modules)) ||
        (name[0] == '\0' &&
         has_prefix(module, allocator_modules, HS_COUNT_OF(allocator_modules)))) {
        return HS_FRAME_CLASS_ALLOCATOR;
    }
    if (is_library_name || has_prefix(module, library_modules, HS_COUNT_OF(library_modules))) {
        return HS_FRAME_CLASS_LIBRARY;
    }
    return HS_FRAME_CLASS_USER;
}

bool hs_frame_is_recorder(const char *name, const char *module_path)
{
    const char *path = hs_cxx_skip_result_type(name);
    return has_prefix(hs_text_base_name(module_path), recorder_modules,
                      HS_COUNT_OF(recorder_modules)) ||
           is_in(path, strlen(path), recorder_names, HS_COUNT_OF(recorder_names));
}

bool hs_frame_is_of_recording_allocator(const char *module_path)
{
    return has_prefix(hs_text_base_name(module_path), recording_allocators,
                      HS_COUNT_OF(recording_allocators));
}
