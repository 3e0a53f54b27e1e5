/*
 * See leaks_output.h.
 */
#include "cli/read/leaks_output.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/cmd.h"
#include "cli/message.h"
#include "cli/output.h"
#include "util/buf.h"
#include "view/diff_leaks.h"

struct output {
    const struct hs_diff_leaks *leaks;
    size_t list;
};

static int fill(void *ctx, struct hs_buf *buf)
{
    const struct output *output = ctx;
    return hs_diff_leaks_write(output->leaks, output->list, buf);
}

static int write_list(const char *folder, const struct hs_diff_leaks *leaks, size_t list)
{
    struct hs_buf path = HS_BUF_INIT;
    struct output output = { leaks, list };
    hs_buf_printf(&path, "%s/", folder);
    hs_diff_leaks_write_name(leaks, list, &path);
    int err = path.err ? path.err : hs_output_write(hs_buf_text(&path), fill, &output, NULL);
    int status = hs_output_end(hs_buf_text(&path), err);
    hs_buf_deinit(&path);
    return status;
}

int hs_leaks_output_write(const struct hs_compare *compare, const struct hs_selection *before,
                          const struct hs_selection *after, enum hs_view view)
{
    const struct hs_diff_leak_limits limits = { (double)compare->leak_bytes,
                                                (double)compare->leak_count };
    struct hs_diff_leaks leaks;
    if (mkdir(compare->output, 0777) != 0 && errno != EEXIST) {
        hs_message("cannot make the folder %s: %s", compare->output, strerror(errno));
        return HS_EXIT_STATUS_FAILED;
    }
    int err = hs_diff_leaks_build(before, after, view, &limits, &leaks);
    if (err != 0) {
        hs_message("cannot compare the profiles: %s", strerror(-err));
        return HS_EXIT_STATUS_FAILED;
    }
    int status = HS_EXIT_STATUS_DONE;
    for (size_t i = 0; i < leaks.list_count && status == HS_EXIT_STATUS_DONE; i++) {
        status = write_list(compare->output, &leaks, i);
    }
    if (status == HS_EXIT_STATUS_DONE) {
        hs_message_info("wrote %zu file%s into %s: %zu stacks, view %s", leaks.list_count,
                        leaks.list_count == 1 ? "" : "s", compare->output, leaks.leak_count,
                        hs_views[view].name);
    }
    hs_diff_leaks_deinit(&leaks);
    return status;
}
