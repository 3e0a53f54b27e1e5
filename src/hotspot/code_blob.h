/*
 * What code a pc lies in: HotSpot's blob, found through the code heap's segment map.
 *
 * A code heap is divided into segments of equal size, and a map has one byte for each: 0 where a
 * block begins, n where the block's start is n segments further down, or at least that much closer,
 * 255 where nothing is. A block has a header with its length, and behind it the blob.
 *
 *     segment   0  1  2  3  4  5  6
 *     map       0  1  2  3  0  1 255       a block of four segments, one of two, and nothing
 *
 * A blob of code that is running cannot be freed, nor made: the code of a frame is as complete as
 * it will ever be, and stays until the frame has returned. For any other address the answer may be
 * wrong, but the search ends, and reads nothing outside the heap and its map.
 *
 * Threads   any: nothing is kept.
 * Trust     as hotspot_memory.h.
 */
#pragma once

#include "hotspot/hotspot_layout.h"

#define HS_CODE_HEAPS_MAX 8U

/* A code heap. These values do not change while the JVM runs. */
struct hs_code_heap {
    uint64_t heap_va;   /* the object that describes it */
    uint64_t low_va;    /* its first segment */
    uint64_t segmap_va; /* the map's first byte */
    uint32_t log2_segment_bytes;
};

struct hs_code_heaps {
    struct hs_code_heap heaps[HS_CODE_HEAPS_MAX];
    uint32_t count;
    uint64_t low_va; /* all code lies from here */
    uint64_t high_va;
    uint64_t call_stub_ret; /* the return address into the code by which the JVM calls Java */
};

enum hs_blob_kind {
    HS_BLOB_STUB,        /* code of the JVM itself */
    HS_BLOB_INTERPRETER, /* all of the interpreter */
    HS_BLOB_COMPILED,    /* a compiled method, or the code that calls a native one */
};

#define HS_BLOB_NAME_BYTES 48U

struct hs_code_blob {
    enum hs_blob_kind kind;
    uint32_t frame_bytes; /* with return address and saved rbp; 0: rbp is the frame pointer */
    uint64_t start_va;
    uint64_t end_va;
    uint64_t code_va; /* where its instructions begin */
    char name[HS_BLOB_NAME_BYTES];
    /* Of HS_BLOB_COMPILED: */
    uint32_t compile_id;  /* no other compilation has it */
    uint32_t orig_pc_off; /* from sp: where the pc of a frame is that is to be deoptimized */
    uint64_t method_va;   /* the method that was compiled */
    uint64_t metadata_va; /* pointers to the methods that are inlined, and others */
    uint64_t scopes_va;   /* compressed: which method, at which bytecode, inlined where */
    uint64_t pcs_va;      /* PcDesc: for each pc that matters, its scope */
    uint64_t pcs_end_va;
    uint64_t deopt_va[2]; /* the pc of frames that are to be deoptimized is one of these */
};

/* Reads where the code heaps are. False: the JVM has not made them yet, or they are not as they
 * should be. */
bool hs_code_heaps_read(const struct hs_hotspot_layout *layout,
                        const struct hs_hotspot_memory *memory, struct hs_code_heaps *ret_heaps);

/* The blob at `pc`. False: there is none. */
bool hs_code_blob_find(const struct hs_hotspot_layout *layout,
                       const struct hs_hotspot_memory *memory, const struct hs_code_heaps *heaps,
                       uint64_t pc, struct hs_code_blob *ret_blob);
