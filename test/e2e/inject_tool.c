/*
 * Injects from the command line, and prints the results as lines "key value": for test_inject.py.
 *
 * inject_tool PID LIBRARY|- SYMBOL [-w WORD] [-f] [-n COUNT] [-p PATIENCE_MS] [-u USER_ID]
 *
 * The argument is that of injected.c. -w: its word. -f: take over a descriptor. -n: inject COUNT
 * times, and print only a summary of stops and tries. -u: become that user first.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "inject/inject.h"
#include "injected.h"

#define COUNT_MAX 100000U

struct settings {
    struct hs_inject_request request;
    struct injected_arg arg;
    unsigned count;
};

static void show(int error, const struct hs_inject_result *result, const struct injected_arg *arg)
{
    char text[64] = "";
    ssize_t n = result->fd >= 0 ? read(result->fd, text, sizeof(text) - 1) : 0;
    text[n > 0 ? n : 0] = '\0';
    printf("error %d\nwords %s\ndetail %s\n", error, hs_inject_error_words(error), result->detail);
    printf("value %lld\nword %lld\nloaded %d\ntid %d\nstopped_us %.1f\ntries %u\nfd %s\n",
           (long long)result->value, (long long)arg->word, result->was_loaded, (int)result->tid,
           (double)result->stopped_ns / 1000, result->try_count, text);
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* Sorts `values`. */
static void show_spread(const char *name, double *values, unsigned count)
{
    qsort(values, count, sizeof(values[0]), compare);
    printf("%s_median %.1f\n%s_p95 %.1f\n%s_max %.1f\n", name, values[count / 2], name,
           values[count * 95 / 100], name, values[count - 1]);
}

static int call_often(struct settings *settings)
{
    static double stopped_us[COUNT_MAX], tries[COUNT_MAX];
    struct hs_inject_result result;
    for (unsigned i = 0; i < settings->count; i++) {
        struct injected_arg arg = settings->arg;
        settings->request.arg = &arg;
        int error = hs_inject_call(&settings->request, &result);
        if (error || result.value != INJECTED_VALUE || arg.word != settings->arg.word + 1) {
            printf("at %u\n", i);
            show(error, &result, &arg);
            return 1;
        }
        stopped_us[i] = (double)result.stopped_ns / 1000;
        tries[i] = result.try_count;
    }
    printf("error 0\nfirst_us %.1f\n", stopped_us[0]);
    show_spread("us", stopped_us, settings->count);
    show_spread("tries", tries, settings->count);
    return 0;
}

static void parse(int argc, char **argv, struct settings *settings)
{
    int option;
    while ((option = getopt(argc, argv, "w:fn:p:u:")) >= 0) {
        switch (option) {
        case 'w':
            settings->arg.word = strtoll(optarg, NULL, 0);
            break;
        case 'f':
            settings->request.fetch_fd_off = (int)offsetof(struct injected_arg, fd);
            break;
        case 'n':
            settings->count = (unsigned)strtoul(optarg, NULL, 0) % COUNT_MAX;
            break;
        case 'p':
            settings->request.patience_ns = strtoull(optarg, NULL, 0) * 1000000;
            break;
        case 'u':
            if (setresgid(65534, 65534, 65534) ||
                setresuid((uid_t)atoi(optarg), (uid_t)atoi(optarg), (uid_t)atoi(optarg))) {
                perror("setresuid");
                exit(2);
            }
            break;
        default:
            exit(2);
        }
    }
}

int main(int argc, char **argv)
{
    struct settings settings = { .request = { .library_name = "injected",
                                              .fetch_fd_off = -1,
                                              .arg_bytes = sizeof(struct injected_arg),
                                              .patience_ns = 2000000000 },
                                 .arg = { .fd = -1 } };
    parse(argc, argv, &settings);
    if (argc - optind != 3) {
        fprintf(stderr, "inject_tool PID LIBRARY|- SYMBOL [options]\n");
        return 2;
    }
    settings.request.pid = (pid_t)strtol(argv[optind], NULL, 10);
    settings.request.library_path = strcmp(argv[optind + 1], "-") == 0 ? NULL : argv[optind + 1];
    settings.request.symbol = argv[optind + 2];
    if (settings.count > 0) {
        return call_often(&settings);
    }
    struct hs_inject_result result;
    settings.request.arg = &settings.arg;
    int error = hs_inject_call(&settings.request, &result);
    show(error, &result, &settings.arg);
    return 0;
}
