/*
 * Reads bytes with one of the readers for files that are not traces. The resulting profile must
 * satisfy the invariants of profile.h, and the report and the massif view must be able to show it.
 */
#pragma once

#include "check_profile.h"
#include "profile/read/load_foreign.h"
#include "util/buf.h"
#include "view/massif.h"
#include "view/report.h"

static int drop(void *ctx, const void *data, size_t bytes)
{
    (void)ctx;
    (void)data;
    (void)bytes;
    return 0;
}

static void show(const struct hs_profile *profile)
{
    static const struct hs_select_spec last = { .snapshot = HS_SELECT_LAST };
    const struct hs_report_options options = { .form = HS_REPORT_TEXT,
                                               .view = HS_VIEW_AUTO,
                                               .top_count = 5,
                                               .stack_count = 5,
                                               .frame_count = 5,
                                               .select = last,
                                               .columns = 80 };
    struct hs_buf buf;
    hs_buf_init(&buf, drop, NULL);
    (void)hs_report_write(profile, &options, &buf);
    (void)hs_massif_write(profile, &last, &buf);
    (void)hs_buf_finish(&buf);
    hs_buf_deinit(&buf);
}

static void read_with(int (*reader)(const struct hs_load_source *), const uint8_t *data,
                      size_t bytes)
{
    struct hs_load_report report = { 0 };
    struct hs_load_source source = {
        .data = data, .bytes = bytes, .builder = hs_builder_new(), .report = &report
    };
    struct hs_profile *profile = NULL;
    if (source.builder && reader(&source) == 0) {
        hs_load_add_losses(source.builder, &report);
        if (hs_builder_finish(source.builder, &profile) == 0) {
            check_profile(profile);
            show(profile);
        }
    }
    hs_builder_free(source.builder);
    hs_profile_free(profile);
}
