/*
 * Changes code of another process: a few bytes here and there, all of them or none, while all its threads stand still.
 *
 * What is changed is a piece of a function's first instructions. A thread may be in the midst of these, or may have
 * been interrupted there by a signal whose handler it is in: it would go on in the midst of other bytes. So when all have
 * stopped, no pc may be behind the first byte of a piece, and no word near the top of a stack either, among which is
 * what a signal has interrupted. If one is, all are let go, and some time later it is tried again.
 *
 * Holds     the bytes are what the caller thinks they are, or nothing is changed. What is as it shall be, is fine. The
 *           page becomes the process's own copy, and keeps its protection.
 * Threads   any; each call runs in a thread of its own, as inject.h's.
 * Fails     enum hs_inject_error. If we are killed meanwhile, the kernel lets go of the threads; as the bytes are
 *           written after the last has stopped, and in one go, there are microseconds in which that leaves some
 *           changed and others not.
 * See       docs/INJECTION.md
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "inject/inject.h"

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
    bool may_be_inside; /* threads: false when the old bytes are one instruction each */
    uint64_t patience_ns;
};

struct hs_text_patch_result {
    size_t changed_count; /* without those that were so before */
    size_t thread_count;
    uint64_t stopped_ns; /* how long the first one stood still, the last time */
    uint32_t try_count;  /* in vain */
    char detail[HS_INJECT_DETAIL_BYTES];
};

/* 0 or enum hs_inject_error. */
int hs_text_patch(const struct hs_text_patch_request *request,
                  struct hs_text_patch_result *ret_result);
