/*
 * A profile in speedscope: see ui_speedscope.h.
 */
#include "cli/ui/ui_speedscope.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/cmd.h"
#include "cli/message.h"
#include "cli/ui/speedscope_build.h"
#include "cli/ui/ui_serve.h"
#include "rt/text.h"

#define PROFILE_PATH "/heapscope.speedscope.json"
/* What speedscope's page needs: its own scripts, styles that it makes, and its font. */
#define PAGE_POLICY                                                                                \
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "                    \
    "img-src 'self' data: blob:; font-src 'self'; connect-src 'self'; worker-src 'self'; "         \
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

struct speedscope {
    const char *path;
    struct hs_speedscope_build build;
};

/* In a process of its own; standard output is the answer. */
static void export_profile(void *ctx, const struct hs_http_request *request,
                           struct hs_http_answer *answer)
{
    const struct speedscope *speedscope = ctx;
    char command[] = "export", quiet[] = "--quiet", format[] = "--format=speedscope", end[] = "--";
    char *args[] = { command, quiet, format, end, (char *)(uintptr_t)speedscope->path, NULL };
    (void)request;
    if (hs_cmd_export((int)(sizeof(args) / sizeof(args[0])) - 1, args) != HS_EXIT_STATUS_DONE) {
        answer->status = 500;
    }
}

static int say_missing(const char *folder, int err)
{
    if (err == -EACCES) {
        hs_message("speedscope's build belongs to another user, and is not used");
    } else if (folder) {
        hs_message("%s has no build of speedscope: it is dist/release/index.html in the folder of "
                   "the npm package",
                   folder);
    } else {
        hs_message("speedscope is not installed here\n"
                   "To install it in this folder: npm install speedscope\n"
                   "To use another folder: heapscope ui --speedscope FILE --speedscope-dir DIR\n"
                   "Without it: heapscope export --format speedscope FILE -o OUT.speedscope.json, "
                   "and open OUT in https://www.speedscope.app");
    }
    return HS_EXIT_STATUS_FAILED;
}

static int serve(struct speedscope *speedscope, uint16_t port, bool is_opening)
{
    char address[HS_HTTP_ADDRESS_BYTES_MAX], link[2 * HS_HTTP_ADDRESS_BYTES_MAX];
    struct hs_http_route routes[HS_SPEEDSCOPE_FILES_MAX + 1];
    struct hs_http_server *server = NULL;
    size_t count = speedscope->build.count;
    bool is_signal;
    memcpy(routes, speedscope->build.routes, count * sizeof(routes[0]));
    routes[count++] = (struct hs_http_route){ .method = HS_HTTP_GET,
                                              .path = PROFILE_PATH,
                                              .kind = HS_HTTP_JOB,
                                              .content_type = HS_HTTP_TYPE_JSON,
                                              .fd = -1,
                                              .run = export_profile };
    const struct hs_http_owner owner = { .routes = { routes, count },
                                         .needs_token = true,
                                         .page_policy = PAGE_POLICY,
                                         .user = geteuid(),
                                         .ctx = speedscope };
    int status = hs_ui_serve_open(&owner, port, &server);
    if (status == HS_EXIT_STATUS_DONE) {
        hs_http_server_address(server, "/", address);
        snprintf(link, sizeof(link), "%s#profileURL=http%%3A%%2F%%2F127.0.0.1%%3A%u%%2F%s", address,
                 hs_http_server_port(server), PROFILE_PATH + 1);
        hs_ui_serve_tell(server, link, is_opening);
        status = hs_ui_serve_run(server, &is_signal);
    }
    hs_http_server_close(server);
    return status;
}

int hs_ui_speedscope(const char *path, const char *folder, uint16_t port, bool is_opening)
{
    struct speedscope speedscope = { .path = path };
    if (access(path, R_OK) != 0) {
        hs_message("%s: %s", path, strerror(errno));
        return HS_EXIT_STATUS_FAILED;
    }
    int r = hs_speedscope_build_read(folder, &speedscope.build);
    if (r != 0) {
        return say_missing(folder, r);
    }
    int status = serve(&speedscope, port, is_opening);
    hs_speedscope_build_deinit(&speedscope.build);
    return status;
}
