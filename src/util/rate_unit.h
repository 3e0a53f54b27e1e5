/*
 * The time that a rate of growth is stated for: the unit below which the recording was not.
 *
 * "715 MiB an hour" of a recording of 1.8 s states what nobody saw; "203 KiB a second" does not.
 *
 *     length of the recording   below a minute   below an hour   else
 *     a rate is one of          a second         a minute        an hour
 *
 * Threads   pure.
 */
#pragma once

struct hs_rate_unit {
    double seconds;    /* its length */
    const char *words; /* "a second": behind a figure, or as the title of a column */
    const char *sign;  /* "/s" */
};

/* The unit for what was recorded for so long. */
const struct hs_rate_unit *hs_rate_unit_of(double recorded_seconds);
