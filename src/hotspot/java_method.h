/*
 * A Java method: its class, its name, its file, and the lines of its bytecodes.
 *
 * A Method leads to a ConstMethod, which the bytecodes follow, and behind them a compressed table
 * of line numbers; from there to the constant pool, which has the names, and to the class.
 *
 * Threads   any: nothing is kept.
 * Trust     as hotspot_memory.h. What is no method is told by its ConstMethod, or gives a name that
 *           is none; texts are cut at a limit.
 */
#pragma once

#include "hotspot/hotspot_layout.h"

#define HS_JAVA_CODE_BYTES_MAX 65535U

/* Where a method's parts are. */
struct hs_java_method {
    uint64_t code_va;  /* its bytecodes */
    uint64_t lines_va; /* 0: the class file had no line numbers */
    uint64_t end_va;   /* behind ConstMethod and all that follows it */
    uint64_t class_va; /* the names: Symbol */
    uint64_t name_va;
    uint64_t source_va; /* 0: the class file does not name its source */
    uint32_t code_bytes;
    bool is_native;
};

/* Reads the method at `method_va`. False: there is none. */
bool hs_java_method_read(const struct hs_hotspot_layout *layout,
                         const struct hs_hotspot_memory *memory, uint64_t method_va,
                         struct hs_java_method *ret_method);

/* Writes "java.util.HashMap.resize" and a NUL. A hidden class has a slash before its number, as in
 * the JVM's own traces. Returns the length; 0: it could not be read. */
size_t hs_java_method_function(const struct hs_hotspot_layout *layout,
                               const struct hs_hotspot_memory *memory,
                               const struct hs_java_method *method, char *ret_text,
                               size_t capacity);

/* Writes the name of the source file, "HashMap.java", and a NUL. Returns the length; 0: none. */
size_t hs_java_method_source(const struct hs_hotspot_layout *layout,
                             const struct hs_hotspot_memory *memory,
                             const struct hs_java_method *method, char *ret_text, size_t capacity);

/* The line of the bytecode at `bci`. 0: not known. */
uint32_t hs_java_method_line(const struct hs_hotspot_layout *layout,
                             const struct hs_hotspot_memory *memory,
                             const struct hs_java_method *method, uint32_t bci);

/* A hash of what the names and lines of a method are made of: its addresses, its texts and the
 * beginning of its table of lines. 0: it could not be read. */
uint64_t hs_java_method_hash(const struct hs_hotspot_layout *layout,
                             const struct hs_hotspot_memory *memory,
                             const struct hs_java_method *method);
