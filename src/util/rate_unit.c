/*
 * Chooses the unit of a rate: see rate_unit.h.
 */
#include "util/rate_unit.h"

#define SECONDS_PER_MINUTE 60.0
#define SECONDS_PER_HOUR   3600.0

const struct hs_rate_unit *hs_rate_unit_of(double recorded_seconds)
{
    static const struct hs_rate_unit second = { 1, "a second", "/s" };
    static const struct hs_rate_unit minute = { SECONDS_PER_MINUTE, "a minute", "/min" };
    static const struct hs_rate_unit hour = { SECONDS_PER_HOUR, "an hour", "/h" };
    if (recorded_seconds >= SECONDS_PER_HOUR) {
        return &hour;
    }
    return recorded_seconds >= SECONDS_PER_MINUTE ? &minute : &second;
}
