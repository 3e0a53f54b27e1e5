/*
 * Ledgers made by hand, for profiles of fixture_profile.h.
 *
 *     fixture_dump(&fx, 5);
 *     fixture_ledger(&fx, 4, 3000);
 *     fixture_ledger_line(&fx, HS_LEDGER_FILE, "/data", 2000);
 *
 * Fails     by ending the test program.
 */
#pragma once

#include "fixture_profile.h"

/* Gives the last dump a ledger of this time and resident sum. */
FIXTURE struct hs_profile_ledger *fixture_ledger(struct fixture *fx, uint64_t time_s,
                                                 uint64_t rss_bytes)
{
    struct hs_profile *p = &fx->p;
    p->ledgers = fixture_grow(p->ledgers, p->ledger_count, sizeof(*p->ledgers));
    struct hs_profile_ledger *ledger = &p->ledgers[p->ledger_count++];
    ledger->time_ns = time_s * 1000000000u;
    ledger->rss_bytes = ledger->pss_bytes = rss_bytes;
    ledger->line_first = p->ledger_line_count;
    p->dumps[p->dump_count - 1].ledger = p->ledger_count;
    return ledger;
}

/* Adds a line to the last ledger. Its proportional bytes are half of its resident ones. */
FIXTURE void fixture_ledger_line(struct fixture *fx, uint32_t kind, const char *name,
                                 uint64_t rss_bytes)
{
    struct hs_profile *p = &fx->p;
    p->ledger_lines = fixture_grow(p->ledger_lines, p->ledger_line_count, sizeof(*p->ledger_lines));
    p->ledger_lines[p->ledger_line_count++] =
        (struct hs_profile_ledger_line){ .kind = kind,
                                         .name = fixture_string(fx, name),
                                         .count = 1,
                                         .size_bytes = rss_bytes,
                                         .rss_bytes = rss_bytes,
                                         .pss_bytes = rss_bytes / 2 };
    p->ledgers[p->ledger_count - 1].lines_n++;
}
