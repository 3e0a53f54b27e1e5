/* A client for tests of the library: it fills the table in as fmt/api_layout.h says, and notes what
 * the library asks. */
#pragma once

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "api/heap_table.h"

#define CLIENT_HEAP_BASE   1000U
#define CLIENT_REPORTS_MAX 4096U

enum client_call { CLIENT_ALLOC, CLIENT_SAMPLE, CLIENT_FREE };

struct client_report {
    enum client_call call;
    uint32_t heap; /* the program's id, not the client's name for it */
    uint64_t id;
    uint64_t size_bytes;
};

/* What the control page of a region has. */
static uint32_t client_generation;
static struct client_report client_reports[CLIENT_REPORTS_MAX];
static unsigned client_report_count, client_poll_count;
static bool client_names_heaps, client_records;
static char client_snapshot[64];
static int client_answer;
static uint64_t client_quiet_at_poll; /* what the library had set before */

static void client_note(enum client_call call, uint32_t name, uint64_t id, uint64_t size_bytes)
{
    /* Later ones are only counted: threads must not share an element. */
    unsigned place = __atomic_fetch_add(&client_report_count, 1, __ATOMIC_RELAXED);
    if (place < CLIENT_REPORTS_MAX) {
        client_reports[place] =
            (struct client_report){ call, name - CLIENT_HEAP_BASE, id, size_bytes };
    }
}

static bool client_report_alloc(uint32_t name, uint64_t id, uint64_t size_bytes)
{
    client_note(CLIENT_ALLOC, name, id, size_bytes);
    return true;
}

static const char *client_type; /* of the last report that has one */

static bool client_report_alloc_of(uint32_t name, uint64_t id, uint64_t size_bytes,
                                   const char *type)
{
    client_type = type;
    client_note(CLIENT_ALLOC, name, id, size_bytes);
    return true;
}

static bool client_report_sample(uint32_t name, uint64_t id, uint64_t size_bytes)
{
    client_note(CLIENT_SAMPLE, name, id, size_bytes);
    return true;
}

static void client_report_free(uint32_t name, uint64_t id)
{
    client_note(CLIENT_FREE, name, id, 0);
}

static void client_call_back(struct hs_api_heap_v1 *heap, uint64_t interval_bytes)
{
    struct hs_api_callback_info_v1 info = { interval_bytes };
    if (interval_bytes == heap->told_interval_bytes) {
        return;
    }
    heap->told_interval_bytes = interval_bytes;
    if (interval_bytes != 0 && heap->on_enabled) {
        heap->on_enabled(heap->enabled_data, &info);
    } else if (interval_bytes == 0 && heap->on_disabled) {
        heap->on_disabled(heap->disabled_data, &info);
    }
}

static void client_poll(void)
{
    client_poll_count++;
    client_quiet_at_poll = hs_heap_table.quiet;
    for (uint32_t id = 1; id < hs_heap_table.heap_count; id++) {
        struct hs_api_heap_v1 *heap = &hs_heap_table.heaps[id];
        if (client_names_heaps && (heap->flags & HS_API_HEAP_REGISTERED)) {
            heap->client_heap = CLIENT_HEAP_BASE + id;
            client_call_back(heap, client_records ? 4096 : 0);
        }
    }
    __atomic_store_n(&hs_heap_table.quiet, client_records ? HS_API_NEVER_QUIET : client_generation,
                     __ATOMIC_RELAXED);
}

static int client_take_snapshot(const char *name)
{
    strncpy(client_snapshot, name, sizeof(client_snapshot) - 1);
    return client_answer;
}

static int client_get_stats(struct hs_api_stats_v1 *global, struct hs_api_stats_v1 *local)
{
    if (global) {
        *global = (struct hs_api_stats_v1){ .allocated_bytes = 30,
                                            .deallocated_bytes = 20,
                                            .is_exact = 1 };
    }
    if (local) {
        *local = (struct hs_api_stats_v1){ .allocated_bytes = 3, .deallocated_bytes = 2 };
    }
    return client_answer;
}

/* A test can make it that of an older client. */
static struct hs_api_calls_v1 client_calls = {
    .version = HS_API_VERSION,
    .bytes = sizeof(client_calls),
    .report_alloc = client_report_alloc,
    .report_sample = client_report_sample,
    .report_free = client_report_free,
    .poll = client_poll,
    .take_snapshot = client_take_snapshot,
    .get_stats = client_get_stats,
    .report_alloc_of = client_report_alloc_of,
};

/* A client appears, as when one is attached. `records`: a session records every heap. */
static inline void client_appear(bool records)
{
    client_generation = 7;
    client_names_heaps = true;
    client_records = records;
    __atomic_store_n(&hs_heap_table.calls, &client_calls, __ATOMIC_RELEASE);
    __atomic_store_n(&hs_heap_table.generation_off,
                     (char *)&client_generation - (char *)&hs_heap_table, __ATOMIC_RELAXED);
    client_poll();
    client_report_count = client_poll_count = 0;
}

/* A session begins or ends: the word in the control page changes, and nobody tells the library. */
static inline void client_session(bool records)
{
    client_records = records;
    client_generation++;
}

/* The table is as a new process has it, except for its heaps, which are for good. */
static inline int client_vanish(void **state)
{
    (void)state;
    hs_heap_table.calls = NULL;
    hs_heap_table.quiet = 0;
    hs_heap_table.generation_off = offsetof(struct hs_api_v1, no_generation);
    hs_heap_table.is_child = 0;
    for (uint32_t id = 0; id < HS_API_HEAPS; id++) {
        hs_heap_table.heaps[id].client_heap = 0;
        hs_heap_table.heaps[id].told_interval_bytes = 0;
    }
    client_report_count = client_poll_count = 0;
    client_answer = 0;
    return 0;
}
