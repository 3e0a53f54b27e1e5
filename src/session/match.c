/*
 * Patterns and names: see match.h.
 */
#include "session/match.h"

#include <string.h>

#include "rt/base.h"
#include "rt/text.h"

#define HS_ARGUMENT_BYTES 4096
/* The kernel keeps this many bytes of a process's name. */
#define HS_COMM_BYTES_MAX 15
/* A script is searched for among this many arguments of an interpreter. */
#define HS_SCRIPT_ARGUMENTS_MAX 16

/* --- globs ------------------------------------------------------------------------------------ */

/* Compares a character with a set like [a-z] or [!abc], whose '[' is at `set`. Returns the
 * character behind the set, or NULL if it has no ']' and so is no set. */
static const char *match_set(const char *set, unsigned char c, bool *ret_is_in)
{
    const char *at = set + 1;
    bool is_negated = *at == '!' || *at == '^';
    bool is_in = false;
    at += is_negated;
    /* A ']' that comes first is a member of the set. */
    for (const char *first = at; *at && (*at != ']' || at == first); at++) {
        unsigned char low = (unsigned char)*at, high = low;
        if (at[1] == '-' && at[2] && at[2] != ']') {
            high = (unsigned char)at[2];
            at += 2;
        }
        is_in |= c >= low && c <= high;
    }
    if (*at != ']') {
        return NULL;
    }
    *ret_is_in = is_in != is_negated;
    return at + 1;
}

/* Compares one character of a text with the start of `pattern`. Returns the rest of the pattern, or
 * NULL if the character does not match. */
static const char *match_one(const char *pattern, unsigned char c)
{
    bool is_in;
    const char *rest;
    if (*pattern == '[' && (rest = match_set(pattern, c, &is_in)) != NULL) {
        return is_in ? rest : NULL;
    }
    if (*pattern == '?') {
        return pattern + 1;
    }
    if (*pattern == '\\' && pattern[1]) {
        pattern++;
    }
    return (unsigned char)*pattern == c ? pattern + 1 : NULL;
}

bool hs_match_glob(const char *pattern, const char *text)
{
    /* Where to continue after a mismatch: behind the last *, which then matches one character more.
     * So the time is at most the product of the two lengths, whatever the pattern is. */
    const char *star = NULL, *retry = NULL;
    while (*text) {
        const char *rest;
        if (*pattern == '*') {
            star = ++pattern;
            retry = text;
        } else if (*pattern && (rest = match_one(pattern, (unsigned char)*text)) != NULL) {
            pattern = rest;
            text++;
        } else if (star) {
            pattern = star;
            text = ++retry;
        } else {
            return false;
        }
    }
    while (*pattern == '*') {
        pattern++;
    }
    return *pattern == '\0';
}

/* --- names ------------------------------------------------------------------------------------ */

static void copy_text(const char *from, size_t bytes, char *ret_text, size_t text_bytes)
{
    bytes = bytes < text_bytes ? bytes : text_bytes - 1;
    memcpy(ret_text, from, bytes);
    ret_text[bytes] = '\0';
}

void hs_match_argument(const char *cmdline, size_t cmdline_bytes, size_t idx, char *ret_text,
                       size_t text_bytes)
{
    size_t at = 0;
    ret_text[0] = '\0';
    while (cmdline && at < cmdline_bytes) {
        size_t bytes = strnlen(cmdline + at, cmdline_bytes - at);
        if (idx == 0) {
            copy_text(cmdline + at, bytes, ret_text, text_bytes);
            return;
        }
        idx--;
        at += bytes + 1;
    }
}

void hs_match_normalize(const char *argument, char *ret_name, size_t name_bytes)
{
    size_t bytes = strcspn(argument, "@");
    size_t start = bytes;
    while (start > 0 && argument[start - 1] != '/') {
        start--;
    }
    copy_text(argument + start, bytes - start, ret_name, name_bytes);
}

/* Is this an interpreter: a known name, perhaps with a version, like python3.11, perl5, bash? */
static bool is_interpreter(const char *name)
{
    static const char *const names[] = { "python", "perl", "ruby", "node",  "nodejs", "php",
                                         "bash",   "sh",   "dash", "ksh",   "zsh",    "lua",
                                         "tclsh",  "wish", "pypy", "guile", "Rscript" };
    for (size_t i = 0; i < HS_COUNT_OF(names); i++) {
        size_t bytes = strlen(names[i]);
        if (strncmp(name, names[i], bytes) == 0 &&
            strspn(name + bytes, "0123456789.-") == strlen(name + bytes)) {
            return true;
        }
    }
    return false;
}

/* Does this option mean that no script follows? */
static bool is_without_script(const char *argument)
{
    return strcmp(argument, "-c") == 0 || strcmp(argument, "-e") == 0 ||
           strcmp(argument, "-m") == 0 || strcmp(argument, "-") == 0;
}

void hs_match_script(const char *cmdline, size_t cmdline_bytes, char *ret_path, size_t path_bytes)
{
    char argument[HS_ARGUMENT_BYTES], name[HS_ARGUMENT_BYTES];
    ret_path[0] = '\0';
    hs_match_argument(cmdline, cmdline_bytes, 0, argument, sizeof(argument));
    hs_match_normalize(argument, name, sizeof(name));
    if (!is_interpreter(name)) {
        return;
    }
    for (size_t i = 1; i < HS_SCRIPT_ARGUMENTS_MAX; i++) {
        hs_match_argument(cmdline, cmdline_bytes, i, argument, sizeof(argument));
        if (argument[0] == '\0' || is_without_script(argument)) {
            return;
        }
        if (argument[0] != '-') {
            copy_text(argument, strlen(argument), ret_path, path_bytes);
            return;
        }
    }
}

static bool fits_argument(const char *pattern, const char *argument)
{
    char name[HS_ARGUMENT_BYTES];
    if (argument[0] == '\0') {
        return false;
    }
    if (pattern[0] == '/') {
        return hs_match_glob(pattern, argument);
    }
    hs_match_normalize(argument, name, sizeof(name));
    return hs_match_glob(pattern, name);
}

/* Is this the kernel's name of the process (comm)? That may be cut after 15 bytes. */
static bool is_comm_of(const struct hs_match_facts *facts, const char *name)
{
    size_t comm_bytes = facts->comm ? strlen(facts->comm) : 0;
    return comm_bytes > 0 && strncmp(name, facts->comm, comm_bytes) == 0 &&
           (name[comm_bytes] == '\0' || comm_bytes >= HS_COMM_BYTES_MAX);
}

/* Finds the program of a process that wrote a title over its arguments ("redis-server *:6379",
 * "nginx: master process"): the first word, if it is the kernel's name of the process. False: this
 * is no such title. */
static bool find_titled(const struct hs_match_facts *facts, const char *argument, char *ret_name,
                        size_t name_bytes)
{
    size_t bytes = strcspn(argument, " ");
    if (argument[bytes] == '\0') {
        return false;
    }
    bytes -= bytes > 0 && argument[bytes - 1] == ':';
    size_t start = bytes;
    while (start > 0 && argument[start - 1] != '/') {
        start--;
    }
    copy_text(argument + start, bytes - start, ret_name, name_bytes);
    return is_comm_of(facts, ret_name);
}

/* Is the first argument a title, perhaps without the program's name in it ("redis-rdb-bgsave
 * unixsocket:/run/r.sock")? A title contains a blank. A path that contains one begins with a
 * folder, or ends in comm. */
static bool is_title(const struct hs_match_facts *facts, const char *argument)
{
    char name[HS_ARGUMENT_BYTES];
    size_t bytes = strcspn(argument, " /");
    hs_match_normalize(argument, name, sizeof(name));
    return bytes > 0 && argument[bytes] == ' ' && !is_comm_of(facts, name);
}

/* Copies the first word of a title, or the whole title without blanks at its end: postgres leaves
 * one there. */
static void copy_title(const char *argument, bool is_whole, char *ret_name, size_t name_bytes)
{
    size_t bytes = is_whole ? strlen(argument) : strcspn(argument, " ");
    while (bytes > 0 && argument[bytes - 1] == ' ') {
        bytes--;
    }
    bytes -= !is_whole && bytes > 1 && argument[bytes - 1] == ':';
    copy_text(argument, bytes, ret_name, name_bytes);
}

static bool fits_title(const char *pattern, const struct hs_match_facts *facts,
                       const char *argument)
{
    char name[HS_ARGUMENT_BYTES];
    if (!is_title(facts, argument)) {
        return false;
    }
    copy_title(argument, false, name, sizeof(name));
    if (hs_match_glob(pattern, name)) {
        return true;
    }
    copy_title(argument, true, name, sizeof(name));
    return hs_match_glob(pattern, name);
}

/* Finds the script of a process that was started by the script's own name: because of #! the
 * interpreter is the first argument. */
static bool find_script(const struct hs_match_facts *facts, char *ret_name, size_t name_bytes)
{
    char path[HS_ARGUMENT_BYTES];
    hs_match_script(facts->cmdline, facts->cmdline_bytes, path, sizeof(path));
    const char *slash = strrchr(path, '/');
    const char *base = slash ? slash + 1 : path;
    copy_text(base, strlen(base), ret_name, name_bytes);
    return ret_name[0] != '\0' && is_comm_of(facts, ret_name);
}

bool hs_match_name(const char *pattern, const struct hs_match_facts *facts)
{
    char argument[HS_ARGUMENT_BYTES], plain[HS_ARGUMENT_BYTES], name[HS_ARGUMENT_BYTES];
    if (pattern[0] != '/' && !strpbrk(pattern, "*?[\\")) {
        /* A plain name is normalized like the first argument of a process. */
        hs_match_normalize(pattern, plain, sizeof(plain));
        pattern = plain;
    }
    if (pattern[0] == '\0') {
        return false;
    }
    hs_match_argument(facts->cmdline, facts->cmdline_bytes, 0, argument, sizeof(argument));
    if (fits_argument(pattern, argument) ||
        (find_titled(facts, argument, name, sizeof(name)) && hs_match_glob(pattern, name)) ||
        fits_title(pattern, facts, argument)) {
        return true;
    }
    hs_match_script(facts->cmdline, facts->cmdline_bytes, argument, sizeof(argument));
    if (fits_argument(pattern, argument)) {
        return true;
    }
    return pattern[0] != '/' && facts->comm && facts->comm[0] &&
           hs_match_glob(pattern, facts->comm);
}

/* --- sessions --------------------------------------------------------------------------------- */

bool hs_match_starting(const struct hs_match *match, const struct hs_match_facts *facts)
{
    for (size_t i = 0; facts->pid > 0 && i < match->pid_count; i++) {
        if (match->pids[i] == facts->pid) {
            return true;
        }
    }
    for (size_t i = 0; i < match->name_count; i++) {
        if (hs_match_name(match->names[i], facts)) {
            return true;
        }
    }
    return match->is_all;
}

bool hs_match_running(const struct hs_match *match, const struct hs_match_facts *facts)
{
    return facts->anon_bytes >= match->min_anon_bytes && hs_match_starting(match, facts);
}

bool hs_match_waits(const struct hs_match *match)
{
    return match->is_all || match->name_count > 0;
}

void hs_match_display(const struct hs_match_facts *facts, char *ret_name, size_t name_bytes)
{
    char argument[HS_ARGUMENT_BYTES];
    hs_match_argument(facts->cmdline, facts->cmdline_bytes, 0, argument, sizeof(argument));
    if (!find_titled(facts, argument, ret_name, name_bytes) &&
        !find_script(facts, ret_name, name_bytes)) {
        hs_match_normalize(argument, ret_name, name_bytes);
        if (is_title(facts, argument)) {
            copy_title(argument, !strchr(argument, '/'), ret_name, name_bytes);
        }
    }
    if (ret_name[0] == '\0') {
        const char *comm = facts->comm && facts->comm[0] ? facts->comm : "?";
        copy_text(comm, strlen(comm), ret_name, name_bytes);
    }
    for (char *c = ret_name; *c; c++) {
        if ((unsigned char)*c < ' ' || *c == 127) {
            *c = '?';
        }
    }
}
