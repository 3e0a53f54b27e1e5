/*
 * Names of threads and types in our own packets: each is written once, in the first packet that
 * refers to it.
 *
 *     struct hs_writer_names names = { 0 };
 *     hs_writer_names_init(&names, snap);
 *     hs_writer_name_thread(dump, &names, id);
 *     HS_WRITER_NAMES_MOVE(&names, &message);      before the message is written
 *
 * Threads   one.
 * Fails     -ENOMEM.
 */
#pragma once

#include <stdbool.h>

#include "trace/writer_state.h"

/* What the next packet names: one element for each thread, and for each type. */
struct hs_writer_names {
    uint32_t *thread_id, *thread_tid;
    char **thread_name;
    size_t thread_count;
    uint32_t *type_id;
    char **type_name;
    size_t type_count;
};

/* Makes room for all threads and types of the snapshot. False: no memory. */
bool hs_writer_names_init(struct hs_writer_names *names, const struct hs_snapshot *snap);
void hs_writer_names_deinit(struct hs_writer_names *names);

/* Names a thread, unless the head of the dump does (writer_rows.c), or it was named before. 0, or
 * see Fails. */
int hs_writer_name_thread(const struct hs_writer_dump *dump, struct hs_writer_names *names,
                          uint32_t id);
/* Names a type, unless it was named before. 0, or see Fails. */
int hs_writer_name_type(const struct hs_writer_dump *dump, struct hs_writer_names *names,
                        uint16_t id);

/* Puts the names into a message, whose fields have the same names, and begins anew. */
#define HS_WRITER_NAMES_MOVE(names, message)                                                       \
    do {                                                                                           \
        (message)->n_thread_id = (message)->n_thread_tid = (message)->n_thread_name =              \
            (names)->thread_count;                                                                 \
        (message)->thread_id = (names)->thread_id;                                                 \
        (message)->thread_tid = (names)->thread_tid;                                               \
        (message)->thread_name = (names)->thread_name;                                             \
        (message)->n_type_id = (message)->n_type_name = (names)->type_count;                       \
        (message)->type_id = (names)->type_id;                                                     \
        (message)->type_name = (names)->type_name;                                                 \
        (names)->thread_count = (names)->type_count = 0;                                           \
    } while (0)

/* Puts a column into a message. A column that contains only zeros is left out. */
#define HS_WRITER_COLUMN(message, name, array, count)                                              \
    do {                                                                                           \
        bool is_any_ = false;                                                                      \
        for (size_t column_ = 0; column_ < (count) && !is_any_; column_++) {                       \
            is_any_ = (array)[column_] != 0;                                                       \
        }                                                                                          \
        (message)->n_##name = is_any_ ? (count) : 0;                                               \
        (message)->name = (array);                                                                 \
    } while (0)
