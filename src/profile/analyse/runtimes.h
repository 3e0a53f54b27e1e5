/*
 * Marks the functions of interpreters and virtual machines, and of the standard libraries of what
 * they run.
 *
 * Who asks where the memory of a Python program went does not want the answer "to
 * _PyUnicode_FromASCII". In a tree with functions of a language, the native functions of what runs
 * them therefore get the class HS_FRAME_CLASS_RUNTIME, and so does code made at run time without a
 * name: what they allocate counts for the function that they run, and a stack is named after that
 * function.
 *
 *     build.<locals>.<listcomp>               this function is named
 *       PyNumber_Multiply                     runtime
 *         unicode_repeat                      runtime
 *
 * A tree without such functions (recorded with --native-only, or a program that embeds an
 * interpreter and did not run it) is left as it is. Libraries that a program calls through its
 * runtime (sqlite3, json's C code) are not the runtime's.
 *
 * Threads   one user of the tree.
 */
#pragma once

#include "profile/analyse/aggregate.h"

/* Sets class_ of the functions. */
void hs_runtimes_mark(struct hs_agg *agg);
