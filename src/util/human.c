/* See human.h. A size is rounded before its unit is chosen: 1023.99 KiB is 1.00 MiB, never 1024. */
#include "util/human.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "rt/base.h"

/* How many decimals make three significant digits below a thousand: 1.23, 12.3, 123. */
static int decimals(double value)
{
    double magnitude = fabs(value);
    return magnitude < 9.995 ? 2 : magnitude < 99.95 ? 1 : 0;
}

char *hs_human_bytes(char *out, double bytes)
{
    static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
    if (!isfinite(bytes)) {
        snprintf(out, HS_HUMAN_BYTES, "?");
        return out;
    }
    size_t unit = 0;
    double value = bytes;
    while (unit + 1 < HS_COUNT_OF(units) && fabs(value) >= (unit == 0 ? 1023.5 : 999.5)) {
        value /= 1024;
        unit++;
    }
    snprintf(out, HS_HUMAN_BYTES, "%.*f %s", unit == 0 ? 0 : decimals(value), value, units[unit]);
    return out;
}

char *hs_human_exact(char *out, uint64_t count)
{
    char digits[24];
    int n = snprintf(digits, sizeof(digits), "%" PRIu64, count);
    char *to = out;
    for (int i = 0; i < n; i++) {
        if (i > 0 && (n - i) % 3 == 0) {
            *to++ = ',';
        }
        *to++ = digits[i];
    }
    *to = '\0';
    return out;
}

char *hs_human_count(char *out, double count)
{
    static const char *const units[] = { "M", "G", "T", "P" };
    if (!isfinite(count) || count < 0) {
        snprintf(out, HS_HUMAN_BYTES, "?");
        return out;
    }
    if (count < 999999.5) {
        return hs_human_exact(out, (uint64_t)llround(count));
    }
    size_t unit = 0;
    double value = count / 1e6;
    while (unit + 1 < HS_COUNT_OF(units) && value >= 999.5) {
        value /= 1000;
        unit++;
    }
    snprintf(out, HS_HUMAN_BYTES, "%.*f %s", decimals(value), value, units[unit]);
    return out;
}

char *hs_human_duration(char *out, uint64_t duration_ns)
{
    double seconds = (double)duration_ns / 1e9;
    if (duration_ns == 0) {
        snprintf(out, HS_HUMAN_BYTES, "0 s");
    } else if (seconds < 0.0009995) {
        snprintf(out, HS_HUMAN_BYTES, "%.*f us", decimals(seconds * 1e6), seconds * 1e6);
    } else if (seconds < 0.9995) {
        snprintf(out, HS_HUMAN_BYTES, "%.*f ms", decimals(seconds * 1e3), seconds * 1e3);
    } else if (seconds < 59.95) {
        snprintf(out, HS_HUMAN_BYTES, "%.*f s", decimals(seconds), seconds);
    } else {
        uint64_t whole = (uint64_t)(seconds + 0.5);
        if (whole < 3600) {
            snprintf(out, HS_HUMAN_BYTES, "%" PRIu64 " min %02" PRIu64 " s", whole / 60,
                     whole % 60);
        } else if (whole < 86400) {
            snprintf(out, HS_HUMAN_BYTES, "%" PRIu64 " h %02" PRIu64 " min", whole / 3600,
                     whole % 3600 / 60);
        } else {
            snprintf(out, HS_HUMAN_BYTES, "%" PRIu64 " d %02" PRIu64 " h", whole / 86400,
                     whole % 86400 / 3600);
        }
    }
    return out;
}

char *hs_human_share(char *out, double part, double whole)
{
    double percent = 100 * part / whole;
    if (!isfinite(percent) || whole <= 0) {
        snprintf(out, HS_HUMAN_BYTES, "-");
    } else if (part > 0 && percent < 0.05) {
        snprintf(out, HS_HUMAN_BYTES, "<0.1 %%");
    } else {
        snprintf(out, HS_HUMAN_BYTES, "%.1f %%", percent);
    }
    return out;
}
