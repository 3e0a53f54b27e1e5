/*
 * One file for the Perfetto UI: see ui_perfetto.h.
 */
#include "cli/ui/ui_perfetto.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cmd.h"
#include "cli/message.h"
#include "cli/ui/ui_serve.h"
#include "rt/text.h"

#define PERFETTO_ORIGIN "https://ui.perfetto.dev"
#define PERFETTO_PORT   9001
#define NAME_BYTES_MAX  100

struct perfetto {
    struct hs_http_server *server;
    bool is_sent;
};

static void on_sent(void *ctx, const struct hs_http_route *route)
{
    struct perfetto *perfetto = ctx;
    (void)route;
    perfetto->is_sent = true;
    hs_http_server_end(perfetto->server);
}

/* The name stands in an address inside an address. A character that would be written in another
 * way there becomes '_'; of a long name the end stays, with what says its kind. */
static void make_path(const char *path, char ret_path[NAME_BYTES_MAX + 2])
{
    const char *name = hs_text_base_name(path);
    size_t bytes = strlen(name), out = 0;
    name += bytes > NAME_BYTES_MAX ? bytes - NAME_BYTES_MAX : 0;
    ret_path[out++] = '/';
    for (; *name; name++) {
        char c = *name;
        bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                        (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '_';
        ret_path[out++] = is_plain ? c : '_';
    }
    ret_path[out] = '\0';
}

static int open_file(const char *path)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0) {
        hs_message("%s: %s", path, strerror(errno));
        return -1;
    }
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        hs_message("%s: not a regular file", path);
        close(fd);
        return -1;
    }
    return fd;
}

static int serve(struct perfetto *perfetto, const char *served_path, bool is_opening)
{
    char address[HS_HTTP_ADDRESS_BYTES_MAX], link[HS_HTTP_ADDRESS_BYTES_MAX + 64];
    bool is_signal = false;
    hs_http_server_address(perfetto->server, served_path, address);
    snprintf(link, sizeof(link), PERFETTO_ORIGIN "/#!/?url=%s", address);
    hs_ui_serve_tell(perfetto->server, link, is_opening);
    int status = hs_ui_serve_run(perfetto->server, &is_signal);
    if (status == HS_EXIT_STATUS_DONE && !perfetto->is_sent) {
        hs_message("ended before the Perfetto UI fetched the file");
        status = HS_EXIT_STATUS_FAILED;
    }
    return status;
}

int hs_ui_perfetto(const char *path, bool is_opening)
{
    struct perfetto perfetto = { 0 };
    char served_path[NAME_BYTES_MAX + 2];
    int fd = open_file(path);
    if (fd < 0) {
        return HS_EXIT_STATUS_FAILED;
    }
    make_path(path, served_path);
    const struct hs_http_route route = { .method = HS_HTTP_GET,
                                         .path = served_path,
                                         .kind = HS_HTTP_FILE,
                                         .content_type = "application/octet-stream",
                                         .fd = fd,
                                         .is_once = true };
    const struct hs_http_owner owner = { .routes = { &route, 1 },
                                         .foreign_origin = PERFETTO_ORIGIN,
                                         .user = geteuid(),
                                         .ctx = &perfetto,
                                         .on_sent = on_sent };
    int status = hs_ui_serve_open(&owner, PERFETTO_PORT, &perfetto.server);
    if (status == HS_EXIT_STATUS_DONE) {
        status = serve(&perfetto, served_path, is_opening);
    }
    hs_http_server_close(perfetto.server);
    close(fd);
    return status;
}
