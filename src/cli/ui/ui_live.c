/*
 * The page and its routes: see ui_live.h.
 */
#include "cli/ui/ui_live.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/cmd.h"
#include "cli/message.h"
#include "cli/ui/ui_handlers.h"
#include "cli/ui/ui_serve.h"
#include "cli/ui/ui_state.h"
#include "page/page.h"
#include "rt/base.h"
#include "rt/clock.h"

/* How long lists are kept, at least, and as a multiple of the time that making them took. */
#define KEPT_NS    UINT64_C(500000000)
#define KEPT_TIMES 20

static const char no_page[] =
    "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>heapscope</title>"
    "<p>This heapscope was built without the page: build it with npm (on Debian: apt install "
    "nodejs npm) and -Dweb=enabled.</p></html>";

/* --- what jobs leave -------------------------------------------------------------------------- */

static bool is_kept(const struct hs_http_route *route)
{
    return route->run == hs_ui_get_processes || route->run == hs_ui_get_sessions;
}

static struct hs_ui_kept *kept_of(struct hs_ui *ui, const struct hs_http_route *route)
{
    return route->run == hs_ui_get_processes ? &ui->processes : &ui->sessions;
}

static void keep(struct hs_ui_kept *kept, int fd, uint64_t took_ns)
{
    uint64_t for_ns = KEPT_TIMES * took_ns > KEPT_NS ? KEPT_TIMES * took_ns : KEPT_NS;
    if (kept->fd >= 0) {
        close(kept->fd);
    }
    kept->fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    kept->until_ns = hs_clock_ns(CLOCK_MONOTONIC) + for_ns;
}

static void on_done(void *ctx, const struct hs_http_route *route,
                    const struct hs_http_request *request, const struct hs_http_answer *answer,
                    uint64_t took_ns, int out_fd)
{
    struct hs_ui *ui = ctx;
    if (is_kept(route)) {
        keep(kept_of(ui, route), out_fd, took_ns);
    } else if (route->run == hs_ui_get_profile && hs_http_request_takes_gzip(request)) {
        hs_ui_store(ui, request, out_fd);
    } else if (answer->note[0] == '/') {
        hs_ui_add_file(ui, answer->note, false);
    }
    if (route->method == HS_HTTP_POST) {
        ui->sessions.until_ns = ui->processes.until_ns = 0; /* they have changed */
        ui->start_count += route->run == hs_ui_post_start;
        ui->stop_count += route->run == hs_ui_post_stop;
    }
}

static bool find_kept(const struct hs_ui_kept *kept, struct hs_http_slice *ret_slice)
{
    struct stat st;
    if (kept->fd < 0 || hs_clock_ns(CLOCK_MONOTONIC) >= kept->until_ns ||
        fstat(kept->fd, &st) != 0) {
        return false;
    }
    *ret_slice = (struct hs_http_slice){ .fd = fcntl(kept->fd, F_DUPFD_CLOEXEC, 3),
                                         .bytes = (uint64_t)st.st_size,
                                         .content_type = HS_HTTP_TYPE_JSON };
    return ret_slice->fd >= 0;
}

static bool find(void *ctx, const struct hs_http_route *route,
                 const struct hs_http_request *request, struct hs_http_slice *ret_slice)
{
    struct hs_ui *ui = ctx;
    if (is_kept(route)) {
        return find_kept(kept_of(ui, route), ret_slice);
    }
    if (route->run == hs_ui_get_profile) {
        return hs_ui_stored_find(ui, request, ret_slice);
    }
    return route->run == hs_ui_get_download && hs_ui_download_find(ui, request, ret_slice);
}

/* --- the routes ------------------------------------------------------------------------------- */

#define JOB(method_, path_, run_)                                                                  \
    {                                                                                              \
        .method = (method_), .path = (path_), .kind = HS_HTTP_JOB,                                 \
        .content_type = HS_HTTP_TYPE_JSON, .fd = -1, .run = (run_)                                 \
    }

static struct hs_http_route routes[] = {
    { .method = HS_HTTP_GET,
      .path = "/",
      .kind = HS_HTTP_BYTES,
      .content_type = HS_HTTP_TYPE_HTML,
      .fd = -1 },
    JOB(HS_HTTP_GET, "/api/files", hs_ui_get_files),
    JOB(HS_HTTP_GET, "/api/profile", hs_ui_get_profile),
    JOB(HS_HTTP_GET, "/api/download", hs_ui_get_download),
    JOB(HS_HTTP_GET, "/api/processes", hs_ui_get_processes),
    JOB(HS_HTTP_GET, "/api/sessions", hs_ui_get_sessions),
    JOB(HS_HTTP_GET, "/api/config", hs_ui_get_config),
    JOB(HS_HTTP_GET, "/api/internals", hs_ui_get_internals),
    { .method = HS_HTTP_GET,
      .path = "/api/watch",
      .kind = HS_HTTP_STREAM,
      .content_type = "text/event-stream",
      .fd = -1,
      .run = hs_ui_get_watch },
    JOB(HS_HTTP_POST, "/api/start", hs_ui_post_start),
    JOB(HS_HTTP_POST, "/api/stop", hs_ui_post_stop),
    JOB(HS_HTTP_POST, "/api/snapshot", hs_ui_post_snapshot),
};

/* The policy that the page states about itself, in its first meta element of that kind, which
 * names the hash of its script; and what only a header can say. */
static void make_policy(const char *page, char *ret_policy, size_t bytes)
{
    const char *at = strstr(page, "http-equiv=\"Content-Security-Policy\"");
    const char *content = at ? strstr(at, "content=\"") : NULL;
    content = content ? content + strlen("content=\"") : NULL;
    size_t length = content ? strcspn(content, "\"<>\r\n") : 0;
    if (content && content[length] == '"' && length < bytes / 2 &&
        strncmp(content, "default-src 'none'", strlen("default-src 'none'")) == 0) {
        snprintf(ret_policy, bytes, "%.*s; frame-ancestors 'none'", (int)length, content);
    } else {
        snprintf(ret_policy, bytes, "default-src 'none'; frame-ancestors 'none'");
    }
}

/* --- the command ------------------------------------------------------------------------------ */

static int add_files(struct hs_ui *ui, char *const *paths, size_t count)
{
    char path[PATH_MAX];
    for (size_t i = 0; i < count; i++) {
        int r = access(paths[i], R_OK) == 0 && realpath(paths[i], path) ? 0 : -errno;
        r = r ? r : hs_ui_add_file(ui, path, true);
        if (r != 0) {
            hs_message("%s: %s", paths[i], r == -ENOSPC ? "too many files" : strerror(-r));
            return HS_EXIT_STATUS_FAILED;
        }
    }
    return HS_EXIT_STATUS_DONE;
}

static int serve(struct hs_ui *ui, uint16_t port, bool is_opening)
{
    static char policy[2048];
    char address[HS_HTTP_ADDRESS_BYTES_MAX];
    bool is_signal;
    const char *page = hs_page_template[0] ? hs_page_template : no_page;
    routes[0].data = page;
    routes[0].bytes = strlen(page);
    make_policy(page, policy, sizeof(policy));
    const struct hs_http_owner owner = { .routes = { routes, HS_COUNT_OF(routes) },
                                         .needs_token = true,
                                         .page_policy = policy,
                                         .user = geteuid(),
                                         .ctx = ui,
                                         .find = find,
                                         .on_done = on_done };
    int status = hs_ui_serve_open(&owner, port, &ui->server);
    if (status == HS_EXIT_STATUS_DONE) {
        hs_http_server_address(ui->server, "/", address);
        hs_ui_serve_tell(ui->server, address, is_opening);
        status = hs_ui_serve_run(ui->server, &is_signal);
    }
    hs_http_server_close(ui->server);
    if (ui->start_count > ui->stop_count) {
        hs_message_info("Recordings that were started from the page go on: 'heapscope list' shows "
                        "them, 'heapscope stop SESSION' ends one.");
    }
    return status;
}

int hs_ui_live(char *const *paths, size_t count, uint16_t port, bool is_opening)
{
    static struct hs_ui ui;
    ui.start_real_ns = hs_clock_ns(CLOCK_REALTIME);
    ui.processes.fd = ui.sessions.fd = -1;
    for (size_t i = 0; i < HS_UI_STORED_MAX; i++) {
        ui.stored[i].fd = -1;
    }
    if (!getcwd(ui.folder, sizeof(ui.folder))) {
        hs_message("the current folder: %s", strerror(errno));
        return HS_EXIT_STATUS_FAILED;
    }
    hs_ui_make_moment_folder(&ui);
    int status = add_files(&ui, paths, count);
    if (status == HS_EXIT_STATUS_DONE) {
        status = serve(&ui, port, is_opening);
    }
    hs_ui_deinit(&ui);
    return status;
}
