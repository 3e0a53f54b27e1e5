/*
 * Where a JVM (HotSpot) keeps what its stacks are walked and named by.
 *
 * libjvm.so exports tables for debuggers: gHotSpotVMStructs with the offset of each field or the
 * address of each static variable, gHotSpotVMTypes with the sizes of types, gHotSpotVMIntConstants
 * with constants. Everything comes from there that is there. What is not in the tables, and is the
 * same in all versions that have them:
 *
 *   - the interpreter's frame on x86-64 (interpreted_frame.h): the method three words below the
 *     frame pointer, the place in its bytecodes eight words below;
 *   - bytecodes begin behind ConstMethod, and the compressed line numbers behind them;
 *   - numbers are compressed as in compressed_int.h, of which there are two kinds.
 *
 * Each of these is checked where it is used: a method that is not one is not named.
 *
 * Threads   pure functions.
 * Trust     the tables are read as hostile memory: a limited number of entries is looked at, and
 *           offsets and sizes are bounded.
 * Fails     enum hs_java_refusal: why this JVM is not read.
 * See       docs/adr/0046-java-frames.md
 */
#pragma once

#include <stdint.h>

#include "fmt/java_layout.h"
#include "hotspot/hotspot_memory.h"

/* The fields and static variables that are used. */
enum hs_hotspot_field {
    HS_HOTSPOT_CODE_CACHE_HEAPS, /* the first are static: `at` is an address */
    HS_HOTSPOT_CODE_CACHE_LOW,
    HS_HOTSPOT_CODE_CACHE_HIGH,
    HS_HOTSPOT_VM_MAJOR,
    HS_HOTSPOT_CALL_STUB, /* where a return address into call_stub is */
    HS_HOTSPOT_STATIC_N,
    HS_HOTSPOT_ARRAY_LEN = HS_HOTSPOT_STATIC_N, /* these have offsets */
    HS_HOTSPOT_ARRAY_DATA,
    HS_HOTSPOT_HEAP_MEMORY,
    HS_HOTSPOT_HEAP_SEGMAP,
    HS_HOTSPOT_HEAP_LOG2_SEGMENT,
    HS_HOTSPOT_SPACE_LOW,
    HS_HOTSPOT_SPACE_HIGH,
    HS_HOTSPOT_BLOCK_LENGTH,
    HS_HOTSPOT_BLOCK_USED,
    HS_HOTSPOT_BLOB_NAME,
    HS_HOTSPOT_BLOB_SIZE,
    HS_HOTSPOT_BLOB_HEADER_SIZE,
    HS_HOTSPOT_BLOB_FRAME_SIZE,
    HS_HOTSPOT_BLOB_CODE_BEGIN,
    HS_HOTSPOT_COMPILED_METHOD,
    HS_HOTSPOT_COMPILED_SCOPES,
    HS_HOTSPOT_COMPILED_DEOPT,
    HS_HOTSPOT_COMPILED_DEOPT_MH,
    HS_HOTSPOT_NMETHOD_PCS_OFF,
    HS_HOTSPOT_NMETHOD_PCS_END_OFF,
    HS_HOTSPOT_NMETHOD_METADATA_OFF,
    HS_HOTSPOT_NMETHOD_ORIG_PC_OFF,
    HS_HOTSPOT_NMETHOD_COMPILE_ID,
    HS_HOTSPOT_PC_OFFSET,
    HS_HOTSPOT_PC_SCOPE,
    HS_HOTSPOT_METHOD_CONST,
    HS_HOTSPOT_METHOD_ACCESS,
    HS_HOTSPOT_CONST_POOL,
    HS_HOTSPOT_CONST_SIZE,
    HS_HOTSPOT_CONST_FLAGS,
    HS_HOTSPOT_CONST_CODE_SIZE,
    HS_HOTSPOT_CONST_NAME,
    HS_HOTSPOT_CONST_SIGNATURE,
    HS_HOTSPOT_POOL_HOLDER,
    HS_HOTSPOT_POOL_LENGTH,
    HS_HOTSPOT_POOL_SOURCE,
    HS_HOTSPOT_KLASS_NAME,
    HS_HOTSPOT_SYMBOL_LENGTH,
    HS_HOTSPOT_SYMBOL_BODY,
    HS_HOTSPOT_FIELD_N,
};

/* The types whose sizes are used. */
enum hs_hotspot_type {
    HS_HOTSPOT_SIZE_BLOCK,
    HS_HOTSPOT_SIZE_NMETHOD,
    HS_HOTSPOT_SIZE_PC_DESC,
    HS_HOTSPOT_SIZE_CONST_METHOD,
    HS_HOTSPOT_SIZE_POOL,
    HS_HOTSPOT_TYPE_N,
};

/* The constants that are used. */
enum hs_hotspot_constant {
    HS_HOTSPOT_HAS_LINES, /* the bit of ConstMethod's flags */
    HS_HOTSPOT_SENDER_SP, /* words from the interpreter's frame pointer to its caller's sp */
    HS_HOTSPOT_CONSTANT_N,
};

/* No structure that is read is larger, and no field further from its start. */
#define HS_HOTSPOT_STRUCT_BYTES_MAX 512U

struct hs_hotspot_layout {
    uint64_t at[HS_HOTSPOT_FIELD_N]; /* the address of a static variable, the offset of a field */
    uint64_t size_bytes[HS_HOTSPOT_TYPE_N];
    int64_t constants[HS_HOTSPOT_CONSTANT_N];
    uint32_t vm_major;
};

/* The address of a variable that libjvm exports; 0: it does not. */
typedef uint64_t hs_hotspot_symbol_fn(void *ctx, const char *name);

/* Reads the tables. `ret_layout` is whole if HS_JAVA_READ is returned. Otherwise
 * `ret_layout->vm_major` is the version, if it could be read, or 0. */
enum hs_java_refusal hs_hotspot_layout_read(const struct hs_hotspot_memory *memory,
                                            hs_hotspot_symbol_fn *symbol, void *symbol_ctx,
                                            struct hs_hotspot_layout *ret_layout);
