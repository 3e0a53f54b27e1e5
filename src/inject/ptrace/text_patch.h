/*
 * Changes code of another process: a few bytes in several places, all of them or none, while all
 * its threads are stopped.
 *
 * The bytes to change are among the first instructions of functions. A thread may be in the middle
 * of them, or a signal may have interrupted it there and it is now in the signal's handler. It
 * would continue in the middle of other bytes. So when all threads have stopped, no pc may lie
 * behind the first byte of a changed piece and before its end. Nor may any word near the top of a
 * stack be such an address: if a signal has interrupted a thread, the interrupted pc is among those
 * words. If one does, all threads continue, and the patch is tried again some time later.
 *
 * Ensures   the bytes are what the caller expects, or nothing is changed. Bytes already patched
 *           count as success. The page becomes the process's own copy, and keeps its protection.
 * Threads   any; each call runs in a thread of its own, like those of inject.h.
 * Fails     enum hs_inject_error. If heapscope is killed meanwhile, the kernel detaches from the
 *           threads. The bytes are written after the last thread has stopped, and in one go, so
 *           there are only some microseconds in which a kill leaves some bytes changed and others
 *           not.
 * See       docs/INJECTION.md
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "inject/check/inject_error.h"

#define HS_TEXT_CHANGE_BYTES_MAX 8U

struct hs_text_change {
    uint64_t va;
    uint8_t size_bytes;
    uint8_t was[HS_TEXT_CHANGE_BYTES_MAX];
    uint8_t now[HS_TEXT_CHANGE_BYTES_MAX];
};

struct hs_text_patch_request {
    pid_t pid;
    const struct hs_text_change *changes;
    size_t count;
    /* threads may be inside a piece; false when the old bytes are one instruction each */
    bool may_be_inside;
    uint64_t patience_ns;
};

struct hs_text_patch_result {
    size_t changed_count; /* pieces changed, without those that were patched before */
    size_t thread_count;
    uint64_t stopped_ns; /* how long the first thread was stopped in the last try */
    uint32_t try_count;  /* failed tries */
    char detail[HS_INJECT_DETAIL_BYTES];
};

/* Applies all changes. 0 or enum hs_inject_error. *ret_result is written in any case. */
int hs_text_patch(const struct hs_text_patch_request *request,
                  struct hs_text_patch_result *ret_result);
