/*
 * http_server.h: a server in a child process, asked through real sockets: each kind of route, what
 * jobs may do, limits, and the end. The checks of headers are in test_http_checks.c.
 */
#include <arpa/inet.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "http/http_checks.h"
#include "http/http_server.h"
#include "rt/clock.h"

#define REQUEST_NS UINT64_C(300000000)
#define GET(path)  "GET " path " HTTP/1.1\r\nHost: 127.0.0.1:%u\r\nX-Heapscope-Token: %s\r\n\r\n"
#define POST(path, length, body)                                                                   \
    "POST " path " HTTP/1.1\r\nHost: 127.0.0.1:%u\r\nX-Heapscope-Token: %s\r\n"                    \
    "Content-Type: application/json\r\nContent-Length: " length "\r\n\r\n" body

/* --- the server ------------------------------------------------------------------------------- */

static void run_echo(void *ctx, const struct hs_http_request *request,
                     struct hs_http_answer *answer)
{
    (void)ctx;
    const char *value = hs_http_request_argument(request, "a");
    printf("%s|%s|%zu", value ? value : "", request->body, request->body_bytes);
    snprintf(answer->content_type, sizeof(answer->content_type), "text/plain");
    snprintf(answer->download_name, sizeof(answer->download_name), "a\"b\r\n/c.txt");
    snprintf(answer->note, sizeof(answer->note), "noted");
}

static void run_fail(void *ctx, const struct hs_http_request *request,
                     struct hs_http_answer *answer)
{
    (void)ctx;
    (void)request;
    fputs("heapscope: first line\nheapscope: second line\n", stderr);
    fputs("not sent", stdout);
    answer->status = 409;
}

static void run_crash(void *ctx, const struct hs_http_request *request,
                      struct hs_http_answer *answer)
{
    (void)ctx;
    (void)request;
    memset(answer->error, 'x', sizeof(answer->error));
    raise(SIGKILL);
}

/* What a damaged process leaves. */
static void run_endless(void *ctx, const struct hs_http_request *request,
                        struct hs_http_answer *answer)
{
    (void)ctx;
    (void)request;
    memset(answer->content_type, 'y', sizeof(answer->content_type));
    memset(answer->download_name, 'z', sizeof(answer->download_name));
}

static void run_keep(void *ctx, const struct hs_http_request *request,
                     struct hs_http_answer *answer)
{
    (void)ctx;
    (void)request;
    printf("job %d: abcdefghij", ++((volatile pid_t *)ctx)[2]);
    snprintf(answer->note, sizeof(answer->note), "keep");
}

/* What a child has of the server: nothing but its three descriptors. */
static void run_descriptors(void *ctx, const struct hs_http_request *request,
                            struct hs_http_answer *answer)
{
    (void)ctx;
    (void)request;
    (void)answer;
    for (int fd = 0; fd < 256; fd++) {
        if (lseek(fd, 0, SEEK_CUR) >= 0 || write(fd, "", 0) == 0) {
            printf("%d ", fd);
        }
    }
}

static void run_forever(void *ctx, const struct hs_http_request *request,
                        struct hs_http_answer *answer)
{
    (void)request;
    (void)answer;
    ((volatile pid_t *)ctx)[1] = getpid();
    for (;;) {
        pause();
    }
}

static void run_slow(void *ctx, const struct hs_http_request *request,
                     struct hs_http_answer *answer)
{
    (void)request;
    ((volatile pid_t *)ctx)[1] = getpid();
    usleep(200000);
    snprintf(answer->note, sizeof(answer->note), "noted");
}

static void run_stream(void *ctx, const struct hs_http_request *request,
                       struct hs_http_answer *answer)
{
    uint64_t count = 0;
    (void)answer;
    ((volatile pid_t *)ctx)[1] = getpid();
    hs_http_request_number(request, "count", 1000000, &count);
    for (uint64_t i = 0; i < count; i++) {
        printf("data: %d\n\n", (int)i);
        if (i == 0) {
            fflush(stdout);
            usleep(20000);
        }
    }
    if (count == 0) {
        while (write(STDOUT_FILENO, "data: x\n\n", 9) > 0) {
            usleep(1000);
        }
    }
}

static struct hs_http_server *server;
static int kept_fd = -1;       /* what a job wrote */
static volatile pid_t *shared; /* [0]: notes of jobs, [1]: the last job's process */

static void on_done(void *ctx, const struct hs_http_route *route,
                    const struct hs_http_request *request, const struct hs_http_answer *answer,
                    uint64_t took_ns, int out_fd)
{
    (void)took_ns;
    (void)route;
    (void)request;
    if (strcmp(answer->note, "keep") == 0) {
        kept_fd = dup(out_fd);
    }
    ((volatile pid_t *)ctx)[0] += strcmp(answer->note, "noted") == 0;
}

/* A part of what a job wrote, for every later request too. */
static bool find(void *ctx, const struct hs_http_route *route,
                 const struct hs_http_request *request, struct hs_http_slice *ret_slice)
{
    uint64_t off;
    (void)ctx;
    if (route->run != run_keep || kept_fd < 0 ||
        !hs_http_request_number(request, "off", 20, &off)) {
        return false;
    }
    *ret_slice = (struct hs_http_slice){
        .fd = dup(kept_fd), .off = off, .bytes = 5, .content_type = "text/kept"
    };
    return true;
}

static void on_sent(void *ctx, const struct hs_http_route *route)
{
    (void)ctx;
    (void)route;
    hs_http_server_end(server);
}

static pid_t child;
static int end_pipe[2];
static uint16_t port;
static char token[HS_HTTP_SECRET_BYTES];

static int start(void **state)
{
    (void)state;
    static const char page[] = "<p>page";
    char address[HS_HTTP_ADDRESS_BYTES_MAX];
    int file = memfd_create("file", MFD_CLOEXEC);
    static struct hs_http_route routes[] = {
        { HS_HTTP_GET, "/", HS_HTTP_BYTES, HS_HTTP_TYPE_HTML, page, sizeof(page) - 1, -1, false,
          NULL },
        { HS_HTTP_GET, "/file", HS_HTTP_FILE, "text/plain", NULL, 0, -1, true, NULL },
        { HS_HTTP_GET, "/api/echo", HS_HTTP_JOB, HS_HTTP_TYPE_JSON, NULL, 0, -1, false, run_echo },
        { HS_HTTP_POST, "/api/echo", HS_HTTP_JOB, HS_HTTP_TYPE_JSON, NULL, 0, -1, false, run_echo },
        { HS_HTTP_GET, "/api/fail", HS_HTTP_JOB, HS_HTTP_TYPE_JSON, NULL, 0, -1, false, run_fail },
        { HS_HTTP_GET, "/api/crash", HS_HTTP_JOB, HS_HTTP_TYPE_JSON, NULL, 0, -1, false,
          run_crash },
        { HS_HTTP_GET, "/api/descriptors", HS_HTTP_JOB, "text/plain", NULL, 0, -1, false,
          run_descriptors },
        { HS_HTTP_GET, "/api/endless", HS_HTTP_JOB, "text/plain", NULL, 0, -1, false, run_endless },
        { HS_HTTP_GET, "/api/keep", HS_HTTP_JOB, "text/plain", NULL, 0, -1, false, run_keep },
        { HS_HTTP_GET, "/api/forever", HS_HTTP_JOB, HS_HTTP_TYPE_JSON, NULL, 0, -1, false,
          run_forever },
        { HS_HTTP_POST, "/api/slow", HS_HTTP_JOB, HS_HTTP_TYPE_JSON, NULL, 0, -1, false, run_slow },
        { HS_HTTP_GET, "/api/stream", HS_HTTP_STREAM, "text/event-stream", NULL, 0, -1, false,
          run_stream },
    };
    if (file < 0 || write(file, "content", 7) != 7 || pipe(end_pipe) != 0) {
        return -1;
    }
    routes[1].fd = file;
    shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    const struct hs_http_owner owner = {
        .routes = { routes, sizeof(routes) / sizeof(routes[0]) },
        .needs_token = true,
        .page_policy = "default-src 'self'",
        .user = geteuid(),
        .request_ns = REQUEST_NS,
        .ctx = (void *)(uintptr_t)shared,
        .find = find,
        .on_done = on_done,
        .on_sent = on_sent,
    };
    if (hs_http_server_open(&owner, 0, &server) != 0) {
        return -1;
    }
    port = hs_http_server_port(server);
    hs_http_server_address(server, "/", address);
    snprintf(token, sizeof(token), "%s", strchr(address, '=') + 1);
    child = fork();
    if (child == 0) {
        close(end_pipe[1]);
        int r = hs_http_server_run(server, end_pipe[0]);
        hs_http_server_close(server);
        exit(10 + r);
    }
    close(end_pipe[0]);
    return 0;
}

/* Ends the server, if it has not ended, and returns its exit status. */
static int end_server(void)
{
    int status = 0;
    close(end_pipe[1]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static int stop(void **state)
{
    (void)state;
    int status = end_server();
    hs_http_server_close(server);
    return status == 11 ? 0 : -1;
}

/* --- the browser ------------------------------------------------------------------------------ */

static char answer[1 << 20];

static int connect_to_server(void)
{
    const struct sockaddr_in address = { .sin_family = AF_INET,
                                         .sin_port = htons(port),
                                         .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    int sock = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(
        connect(sock, (const struct sockaddr *)(const void *)&address, sizeof(address)), 0);
    return sock;
}

static void send_text(int sock, const char *format)
{
    char text[4096];
    snprintf(text, sizeof(text), format, port, token);
    assert_int_equal(send(sock, text, strlen(text), MSG_NOSIGNAL), strlen(text));
}

/* Reads until the server closes the connection. */
static const char *read_answer(int sock)
{
    size_t bytes = 0;
    ssize_t got;
    while (bytes < sizeof(answer) - 1 &&
           (got = recv(sock, answer + bytes, sizeof(answer) - 1 - bytes, 0)) > 0) {
        bytes += (size_t)got;
    }
    answer[bytes] = '\0';
    close(sock);
    return answer;
}

static const char *ask(const char *format)
{
    int sock = connect_to_server();
    send_text(sock, format);
    return read_answer(sock);
}

static void assert_status(const char *text, const char *status)
{
    if (strncmp(text, "HTTP/1.1 ", 9) != 0 || strncmp(text + 9, status, strlen(status)) != 0) {
        fail_msg("not %s: %s", status, text);
    }
}

static const char *body_of(const char *text)
{
    const char *body = strstr(text, "\r\n\r\n");
    return body ? body + 4 : "(no body)";
}

/* --- tests ------------------------------------------------------------------------------------ */

static void pages(void **state)
{
    (void)state;
    const char *text = ask(GET("/"));
    assert_status(text, "200");
    assert_string_equal(body_of(text), "<p>page");
    assert_non_null(strstr(text, "Content-Security-Policy: default-src 'self'\r\n"));
    assert_non_null(strstr(text, "X-Content-Type-Options: nosniff\r\n"));
    assert_non_null(strstr(text, "Cache-Control: no-store\r\n"));
    assert_non_null(strstr(text, "Referrer-Policy: no-referrer\r\n"));
    assert_null(strstr(text, "Set-Cookie"));
    assert_null(strstr(text, "Access-Control"));
    text = ask("GET /?token=%2$s HTTP/1.1\r\nHost: 127.0.0.1:%1$u\r\n\r\n");
    assert_status(text, "303");
    assert_non_null(strstr(text, "Location: /\r\n"));
    assert_non_null(strstr(text, "; Path=/; HttpOnly; SameSite=Strict\r\n"));
    assert_null(strstr(text, token));
    assert_status(ask("GET / HTTP/1.1\r\nHost: 127.0.0.1:%1$u\r\n\r\n"), "403");
    assert_status(ask(GET("/api/none")), "404");
    assert_string_equal(body_of(answer), "{\"error\":\"There is no such address.\"}\n");
    assert_non_null(strstr(answer, "Content-Security-Policy: default-src 'none'"));
    assert_status(ask(POST("/", "0", "")), "405");
    assert_status(ask("GET http://127.0.0.1:%1$u/ HTTP/1.1\r\nHost: 127.0.0.1:%1$u\r\n\r\n"),
                  "400");
}

static void jobs(void **state)
{
    (void)state;
    const char *text = ask(GET("/api/echo?a=%%c3%%a4"));
    assert_status(text, "200");
    assert_string_equal(body_of(text), "\xc3\xa4||0");
    assert_non_null(strstr(text, "Content-Type: text/plain\r\n"));
    assert_non_null(strstr(text, "filename=\"a_b___c.txt\"\r\n"));
    assert_string_equal(body_of(ask(POST("/api/echo", "4", "{ab}"))), "|{ab}|4");
    assert_int_equal(shared[0], 2);
    text = ask(GET("/api/fail"));
    assert_status(text, "409");
    assert_string_equal(body_of(text), "{\"error\":\"first line\\u000asecond line\"}\n");
    text = ask(GET("/api/crash"));
    assert_status(text, "500");
    assert_non_null(strstr(text, "signal 9"));
    assert_int_equal(shared[0], 2);
    assert_string_equal(body_of(ask(GET("/api/descriptors"))), "0 1 2 ");
    text = ask(GET("/api/endless"));
    assert_status(text, "200");
    assert_int_equal(strspn(strstr(text, "Content-Type: ") + 14, "y"), HS_HTTP_TYPE_BYTES - 1);
    assert_int_equal(strspn(strstr(text, "filename=\"") + 10, "z"), HS_HTTP_NAME_BYTES - 1);
}

static void kept_answers(void **state)
{
    (void)state;
    assert_string_equal(body_of(ask(GET("/api/keep?off=7"))), "abcde");
    assert_non_null(strstr(answer, "Content-Type: text/kept\r\n"));
    assert_string_equal(body_of(ask(GET("/api/keep?off=12"))), "fghij");
    assert_int_equal(shared[2], 1); /* the second one needed no job */
    assert_string_equal(body_of(ask(GET("/api/keep"))), "job 2: abcdefghij");
}

static void streams(void **state)
{
    (void)state;
    const char *text = ask(GET("/api/stream?count=20000"));
    assert_status(text, "200");
    assert_non_null(strstr(text, "data: 0\n\n"));
    assert_non_null(strstr(text, "data: 19999\n\n"));
}

/* The job of a connection that the browser closes ends. */
static void wait_until_dead(pid_t pid)
{
    for (int i = 0; i < 1000 && kill(pid, 0) == 0; i++) {
        usleep(10000);
    }
    assert_int_not_equal(kill(pid, 0), 0);
}

static void hang_up(const char *request)
{
    shared[1] = 0;
    int sock = connect_to_server();
    send_text(sock, request);
    for (int i = 0; i < 1000 && shared[1] == 0; i++) {
        usleep(10000);
    }
    assert_true(shared[1] > 0);
    pid_t pid = shared[1];
    close(sock);
    wait_until_dead(pid);
}

static void closed_by_the_browser(void **state)
{
    (void)state;
    hang_up(GET("/api/forever"));
    hang_up(GET("/api/stream"));
    assert_int_equal(shared[0], 0);
    hang_up(POST("/api/slow", "0", "")); /* it acts, so it is not ended half way */
    for (int i = 0; i < 1000 && shared[0] == 0; i++) {
        usleep(10000);
    }
    assert_int_equal(shared[0], 1);
    assert_status(ask(GET("/")), "200");
}

static void sizes(void **state)
{
    (void)state;
    static char text[4 * HS_HTTP_HEAD_BYTES_MAX];
    assert_status(ask(POST("/api/echo", "65537", "")), "413");
    assert_status(ask(POST("/api/echo", "99999999999999999999999", "")), "4");
    /* A body whose length is not known before. */
    int sock = connect_to_server();
    send_text(sock, "POST /api/echo HTTP/1.1\r\nHost: 127.0.0.1:%u\r\nX-Heapscope-Token: %s\r\n"
                    "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n");
    memset(text, 'x', sizeof(text));
    for (int i = 0; i < 100 && send(sock, "400\r\n", 5, MSG_NOSIGNAL) == 5; i++) {
        send(sock, text, 0x400, MSG_NOSIGNAL);
        send(sock, "\r\n", 2, MSG_NOSIGNAL);
    }
    send(sock, "0\r\n\r\n", 5, MSG_NOSIGNAL);
    assert_string_equal(read_answer(sock), "");
    /* A head that does not end. */
    sock = connect_to_server();
    send_text(sock, "GET / HTTP/1.1\r\nHost: 127.0.0.1:%u\r\nX-Heapscope-Token: %s\r\nA: ");
    send(sock, text, sizeof(text), MSG_NOSIGNAL);
    assert_null(strstr(read_answer(sock), "200 OK"));
    assert_status(ask(GET("/")), "200");
}

static void slow(void **state)
{
    (void)state;
    uint64_t start_ns = hs_clock_ns(CLOCK_MONOTONIC);
    int silent = connect_to_server(), dripping = connect_to_server();
    /* Each byte comes soon after the one before; the request never ends. */
    for (int i = 0; i < 300 && send(dripping, i == 0 ? "G" : "E", 1, MSG_NOSIGNAL) == 1; i++) {
        usleep(10000);
    }
    assert_string_equal(read_answer(dripping), "");
    assert_string_equal(read_answer(silent), "");
    uint64_t took_ns = hs_clock_ns(CLOCK_MONOTONIC) - start_ns;
    assert_true(took_ns >= REQUEST_NS && took_ns < 9 * REQUEST_NS);
}

static void many_connections(void **state)
{
    (void)state;
    int socks[2 * HS_HTTP_CONNECTIONS_MAX];
    for (size_t i = 0; i < sizeof(socks) / sizeof(socks[0]); i++) {
        socks[i] = connect_to_server();
    }
    /* They send nothing, so they are closed; then there is room. */
    for (size_t i = 0; i < sizeof(socks) / sizeof(socks[0]); i++) {
        char byte;
        assert_true(recv(socks[i], &byte, 1, 0) <= 0);
    }
    assert_status(ask(GET("/")), "200");
    for (size_t i = 0; i < sizeof(socks) / sizeof(socks[0]); i++) {
        close(socks[i]);
    }
}

/* More jobs than run at the same time: the others wait, and all are answered. */
static void many_jobs(void **state)
{
    (void)state;
    int socks[5 * HS_HTTP_JOBS_MAX];
    for (size_t i = 0; i < sizeof(socks) / sizeof(socks[0]); i++) {
        socks[i] = connect_to_server();
        send_text(socks[i], GET("/api/echo?a=1"));
    }
    for (size_t i = 0; i < sizeof(socks) / sizeof(socks[0]); i++) {
        assert_string_equal(body_of(read_answer(socks[i])), "1||0");
    }
}

/* One that takes long does not keep others waiting. */
static void jobs_beside_long_ones(void **state)
{
    (void)state;
    int socks[HS_HTTP_JOBS_MAX - 1];
    for (size_t i = 0; i < sizeof(socks) / sizeof(socks[0]); i++) {
        socks[i] = connect_to_server();
        send_text(socks[i], GET("/api/forever"));
    }
    int sock = connect_to_server();
    struct timeval patience = { .tv_sec = 10 };
    assert_int_equal(setsockopt(sock, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)), 0);
    send_text(sock, GET("/api/echo?a=1"));
    assert_string_equal(body_of(read_answer(sock)), "1||0");
    for (size_t i = 0; i < sizeof(socks) / sizeof(socks[0]); i++) {
        close(socks[i]);
    }
}

/* A file is sent once, then the server ends; a download that was broken off does not count. */
static void one_download(void **state)
{
    (void)state;
    assert_string_equal(body_of(ask(GET("/file"))), "content");
    assert_int_equal(end_server(), 10);
    hs_http_server_close(server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(pages, start, stop),
        cmocka_unit_test_setup_teardown(jobs, start, stop),
        cmocka_unit_test_setup_teardown(kept_answers, start, stop),
        cmocka_unit_test_setup_teardown(streams, start, stop),
        cmocka_unit_test_setup_teardown(closed_by_the_browser, start, stop),
        cmocka_unit_test_setup_teardown(sizes, start, stop),
        cmocka_unit_test_setup_teardown(slow, start, stop),
        cmocka_unit_test_setup_teardown(many_connections, start, stop),
        cmocka_unit_test_setup_teardown(many_jobs, start, stop),
        cmocka_unit_test_setup_teardown(jobs_beside_long_ones, start, stop),
        cmocka_unit_test_setup(one_download, start),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
