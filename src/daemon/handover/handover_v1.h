/*
 * Reads what a daemon of an older version left in the fdstore, and makes it part of the state of
 * this version.
 *
 * Names in the store (all numbers are decimal):
 *     hs1-order-NUMBER    a recording job's file and folder
 *     hs1-about-NUMBER    memfd: a struct hs_handover_v1_head, then a KeptJob (ctl.proto)
 *     hs1-target-PID-UID-FLAGS-BYTES-JOB-BITS-SESSION_START-INTERVAL-RSS_START-SERIAL
 *                         a target's region and pidfd; JOB is 0 without a job, and
 *                         HS_HANDOVER_V1_PENDING for a pending client
 *
 * Such a daemon locked the whole memfd of a job for its finalizer, and counted the daemons that
 * took the job over in its head.
 *
 * Threads   one.
 * Fails     a job or target that cannot be read is logged and removed from the store.
 */
#pragma once

#include <stdint.h>

#include "daemon/handover/fdstore.h"
#include "daemon/handover/handover_save.h"

#define HS_HANDOVER_V1_PENDING UINT64_MAX

/* As those versions laid it out: never changed. */
struct hs_handover_v1_head {
    uint32_t version; /* 1 */
    uint32_t body_bytes;
    uint32_t epoch;
    uint32_t is_over;
    uint32_t sequence_id;
    uint32_t reserved;
    uint64_t profile_packet_count;
    uint64_t start_ns;
    uint64_t file_bytes;
    uint64_t process_count, rejected_count, dump_count, ended_sample_count;
    uint8_t has_begun;
    uint8_t reserved_2[7];
};

/* Parses the name of a target, except for its serial number. Returns false for any other name. The
 * message has no number. */
bool hs_handover_v1_parse_target(const char *name, Hs__Ctl__KeptTarget *ret_kept);

/* Reads what a job's memfd says. The caller frees it with hs__ctl__kept_job__free_unpacked(). NULL:
 * it is not valid. */
Hs__Ctl__KeptJob *hs_handover_v1_read_job(int about_fd, struct hs_handover_v1_head *ret_head);

/* Puts such items into the state of `handover`, and renames them in `items`, as if a daemon of this
 * version had left them. */
void hs_handover_v1_convert(struct hs_handover *handover, struct hs_fdstore_items *items);
