/*
 * See page_output.h.
 */
#include "cli/read/page_output.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cmd.h"
#include "cli/message.h"
#include "cli/output.h"
#include "cli/read/profile_file.h"
#include "page/page.h"
#include "util/buf.h"
#include "util/human.h"

/* The profiles of the page. */
struct loaded {
    struct hs_profile *profile;
    struct hs_report_options options;
};

static int load(const struct hs_page_output *it, const char *path, struct loaded *loaded)
{
    enum hs_view view;
    const char *reason;
    loaded->options = *it->options;
    loaded->options.file = path;
    int status = hs_profile_file_load_view(path, &it->options->select, it->options->view,
                                           &loaded->profile, &view, &reason);
    status = status ? status : hs_filter_options_apply(path, loaded->profile, it->filters);
    return status ? status : hs_filter_options_rename(path, loaded->profile, it->filters, false);
}

static int fill_output(void *ctx, struct hs_buf *buf)
{
    return hs_page_write_html(ctx, hs_page_template, buf);
}

static int write_page(const struct hs_page_output *it, const struct loaded *loaded)
{
    struct hs_page_file *files = calloc(it->count + 1, sizeof(*files));
    struct hs_page *page = NULL;
    char size[HS_HUMAN_BYTES];
    uint64_t bytes = 0;
    for (size_t i = 0; files && i < it->count; i++) {
        files[i] = (struct hs_page_file){ loaded[i].profile, &loaded[i].options };
    }
    int err = files ? hs_page_new(files, (uint32_t)it->count, &page) : -ENOMEM;
    err = err ? err : hs_output_write(it->output, fill_output, page, &bytes);
    if (err == 0 && strcmp(it->output, "-") != 0) {
        hs_message_info("wrote %s (%s)", it->output, hs_human_bytes(size, (double)bytes));
    }
    hs_page_free(page);
    free(files);
    return hs_output_end(it->output, err);
}

bool hs_page_output_is_built(void)
{
    bool is_built = hs_page_template[0] != '\0';
    if (!is_built) {
        hs_message("this heapscope was built without the page: build it with npm (on Debian: apt "
                   "install nodejs npm) and -Dweb=enabled; report without --html needs no page");
    }
    return is_built;
}

int hs_page_output_run(const struct hs_page_output *it)
{
    if (!hs_page_output_is_built()) {
        return HS_EXIT_STATUS_FAILED;
    }
    struct loaded *loaded = calloc(it->count + 1, sizeof(*loaded));
    if (!loaded) {
        return hs_output_end(it->output, -ENOMEM);
    }
    int status = 0;
    for (size_t i = 0; i < it->count && status == 0; i++) {
        status = load(it, it->paths[i], &loaded[i]);
    }
    status = status ? status : write_page(it, loaded);
    for (size_t i = 0; i < it->count; i++) {
        hs_profile_free(loaded[i].profile);
    }
    free(loaded);
    return status;
}

int hs_page_output_beside(const char *path)
{
    static const char extension[] = ".pftrace";
    const struct hs_heap_patterns all_heaps = { 0 };
    const struct hs_report_options options = {
        .view = HS_VIEW_AUTO,
        .select = { .snapshot = HS_SELECT_LAST, .heaps = &all_heaps },
    };
    const struct hs_filter_options no_filters = { 0 };
    struct hs_buf output = HS_BUF_INIT;
    size_t bytes = strlen(path), end = sizeof(extension) - 1;
    bool has_extension = bytes > end && strcmp(path + bytes - end, extension) == 0;
    hs_buf_add(&output, path, has_extension ? bytes - end : bytes);
    hs_buf_str(&output, ".html");
    const struct hs_page_output it = { .paths = &path,
                                       .count = 1,
                                       .output = hs_buf_text(&output),
                                       .options = &options,
                                       .filters = &no_filters };
    int status = output.err < 0 ? hs_output_end(path, output.err) : hs_page_output_run(&it);
    hs_buf_deinit(&output);
    return status;
}
