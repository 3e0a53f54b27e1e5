/*
 * See cxx_name.h.
 *
 * One scanner reads a name once and says for each character whether it is at the top level or
 * inside <...> or (...). The only difficulty is brackets that do not nest: those of operators
 * (operator<, operator->, operator()) and of "(anonymous namespace)". The scanner takes these as
 * one token each.
 */
#include "util/cxx_name.h"

#include <stdbool.h>
#include <string.h>

#include "util/buf.h"
#include "util/utf8.h"

#define ELLIPSIS  "\xE2\x80\xA6"
#define ANONYMOUS "(anonymous namespace)"
#define DECLTYPE  "decltype ("

/* The kinds of token that the scanner returns. */
enum token_kind { TOKEN_END, TOKEN_TEXT, TOKEN_ATOM, TOKEN_OPEN, TOKEN_CLOSE };

struct token {
    enum token_kind kind;
    size_t bytes;
    char bracket; /* '<' or '(', for TOKEN_OPEN and the TOKEN_CLOSE that matches it */
};

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '$' || (unsigned char)c >= 0x80;
}

/*
 * Length of "operator" and its sign, a name whose brackets open no group. 0: there is no operator
 * here.
 */
static size_t operator_bytes(const char *at)
{
    static const size_t word_bytes = sizeof("operator") - 1;
    if (strncmp(at, "operator", word_bytes) != 0 || is_word(at[word_bytes])) {
        return 0;
    }
    const char *sign = at + word_bytes;
    if (strncmp(sign, "()", 2) == 0) {
        return word_bytes + 2;
    }
    if (strncmp(sign, " new", 4) == 0 || strncmp(sign, " delete", 7) == 0) {
        size_t bytes = word_bytes + (sign[1] == 'n' ? 4 : 7);
        return strncmp(at + bytes, "[]", 2) == 0 ? bytes + 2 : bytes;
    }
    if (sign[0] == ' ') {
        /* A conversion operator is named by its type: "operator unsigned long()". */
        return word_bytes + strcspn(sign, "(");
    }
    size_t signs = strspn(sign, "<>=!-+*/%^&|~,[]");
    /*
     * "operator<<int>" is operator< of int: a sign has at most two equal characters, and a third
     * only in <=>.
     */
    if (sign[0] == '<' || sign[0] == '>') {
        size_t most = strncmp(sign, "<=>", 3) == 0             ? 3
                      : sign[1] == sign[0] && (sign[2] == '=') ? 3
                      : sign[1] == '=' || sign[1] == sign[0]   ? 2
                                                               : 1;
        signs = signs < most ? signs : most;
    }
    /* "operator< <int>": the blank separates the operator from its template arguments. */
    if (signs > 0 && sign[signs] == ' ' && sign[signs + 1] == '<') {
        signs++;
    }
    return word_bytes + signs;
}

static size_t group_end(const char *name, size_t at);

static struct token next_token(const char *name, size_t at)
{
    char c = name[at];
    if (c == '\0') {
        return (struct token){ .kind = TOKEN_END };
    }
    if (c == '(' && strncmp(name + at, ANONYMOUS, sizeof(ANONYMOUS) - 1) == 0) {
        return (struct token){ .kind = TOKEN_ATOM, .bytes = sizeof(ANONYMOUS) - 1 };
    }
    if (c == 'd' && (at == 0 || !is_word(name[at - 1])) &&
        strncmp(name + at, DECLTYPE, sizeof(DECLTYPE) - 1) == 0) {
        /* A type of a result or a parameter: "decltype (f(x))". */
        return (struct token){ .kind = TOKEN_ATOM,
                               .bytes = group_end(name, at + sizeof(DECLTYPE) - 2) - at };
    }
    if (c == 'o' && (at == 0 || !is_word(name[at - 1]))) {
        size_t bytes = operator_bytes(name + at);
        if (bytes > 0) {
            return (struct token){ .kind = TOKEN_ATOM, .bytes = bytes };
        }
    }
    if (c == '<' || c == '(') {
        return (struct token){ .kind = TOKEN_OPEN, .bytes = 1, .bracket = c };
    }
    if (c == ')' || (c == '>' && (at == 0 || name[at - 1] != '-'))) {
        return (struct token){ .kind = TOKEN_CLOSE, .bytes = 1, .bracket = c == ')' ? '(' : '<' };
    }
    return (struct token){ .kind = TOKEN_TEXT, .bytes = 1 };
}

/*
 * Returns the end of the group that opens at `at`, behind its closing bracket; the name's end if it
 * stays open.
 */
static size_t group_end(const char *name, size_t at)
{
    size_t depth = 0;
    for (;;) {
        struct token token = next_token(name, at);
        if (token.kind == TOKEN_END) {
            return at;
        }
        at += token.bytes;
        if (token.kind == TOKEN_OPEN) {
            depth++;
        } else if (token.kind == TOKEN_CLOSE && --depth == 0) {
            return at;
        }
    }
}

/*
 * Is `name` an address in a file, such as "libfoo.so+0x1a2b"? A file's name can contain anything.
 */
static bool is_address(const char *name)
{
    const char *plus = strrchr(name, '+');
    return plus && strncmp(plus, "+0x", 3) == 0 && plus[3] != '\0' &&
           strspn(plus + 3, "0123456789abcdef") == strlen(plus + 3);
}

/* Does the name look like a compiler's name for a C++ or Rust function? */
static bool is_qualified(const char *name)
{
    return (strstr(name, "::") || strpbrk(name, "<(")) && !is_address(name);
}

const char *hs_cxx_skip_result_type(const char *name)
{
    if (!is_qualified(name)) {
        return name;
    }
    size_t start = 0;
    size_t at = 0;
    for (;;) {
        struct token token = next_token(name, at);
        /*
         * A result type can only stand before the arguments; qualifiers such as " const" follow
         * them.
         */
        if (token.kind == TOKEN_END || (token.kind == TOKEN_OPEN && token.bracket == '(')) {
            break;
        }
        /* Rust names can begin with a group: <T as Trait>::f. */
        bool is_group = token.kind == TOKEN_OPEN;
        size_t end = is_group ? group_end(name, at) : at + token.bytes;
        if (token.kind == TOKEN_TEXT && name[at] == ' ') {
            start = end;
        }
        at = end;
    }
    /* A name without arguments has no result type either; blanks in it belong to the name. */
    return name[at] == '(' && name[start] != '\0' && name[start] != '(' ? name + start : name;
}

/* Is the group at `at` a part of the path itself, as in Rust's <T as Trait>::f? */
static bool is_path_group(const char *name, size_t at)
{
    return name[at] == '<' &&
           (at == 0 || name[at - 1] == ':' || (at >= 4 && strncmp(name + at - 4, " as ", 4) == 0));
}

/* What stands in place of groups; NULL: nothing, and qualifiers behind arguments go as well. */
struct stand_ins {
    bool has_templates; /* template arguments stay */
    const char *templates, *arguments;
};

static void write_with(struct hs_buf *buf, const char *name, const struct stand_ins *stand_ins)
{
    size_t at = 0;
    for (;;) {
        struct token token = next_token(name, at);
        if (token.kind == TOKEN_END) {
            return;
        }
        bool is_dropped = token.kind == TOKEN_OPEN && !is_path_group(name, at) &&
                          (token.bracket == '(' || !stand_ins->has_templates);
        if (!is_dropped) {
            hs_buf_add(buf, name + at, token.bytes);
            at += token.bytes;
            continue;
        }
        size_t end = group_end(name, at);
        const char *stand_in = token.bracket == '(' ? stand_ins->arguments : stand_ins->templates;
        if (stand_in) {
            hs_buf_str(buf, token.bracket == '(' && name[at + 1] == ')' ? "()" : stand_in);
        } else if (token.bracket == '(' && name[end] == ' ') {
            /* const and other qualifiers of the function; marks such as [DEDUPED] stay */
            size_t bytes = strcspn(name + end, stand_ins->templates ? ":[" : ":");
            end += bytes - (name[end + bytes] == '[');
        }
        at = end;
    }
}

void hs_cxx_write(struct hs_buf *buf, const char *name, enum hs_cxx_detail detail)
{
    const struct stand_ins stand_ins = {
        .has_templates = detail < HS_CXX_NO_TEMPLATES,
        .templates = detail < HS_CXX_BARE ? "<" ELLIPSIS ">" : NULL,
        .arguments = detail < HS_CXX_BARE ? "(" ELLIPSIS ")" : NULL,
    };
    name = hs_cxx_skip_result_type(name);
    if (detail == HS_CXX_FULL || !is_qualified(name)) {
        hs_buf_str(buf, name);
        return;
    }
    write_with(buf, name, &stand_ins);
}

void hs_cxx_write_short(struct hs_buf *buf, const char *name)
{
    const struct stand_ins stand_ins = { .templates = "<" ELLIPSIS ">" };
    name = hs_cxx_skip_result_type(name);
    if (is_qualified(name)) {
        write_with(buf, name, &stand_ins);
    } else {
        hs_buf_str(buf, name);
    }
}

/* A plain name keeps its start. An address in a module ("libfoo.so+0x1a2b") keeps its end. */
static void write_start(struct hs_buf *buf, const char *name, size_t bytes, size_t columns)
{
    if (hs_utf8_columns(name, bytes) <= columns) {
        hs_utf8_write(buf, name, bytes);
        return;
    }
    if (strstr(name, "+0x")) {
        size_t from = hs_utf8_fit_end(name, bytes, columns > 0 ? columns - 1 : 0);
        hs_buf_str(buf, ELLIPSIS);
        hs_utf8_write(buf, name + from, bytes - from);
        return;
    }
    hs_utf8_write(buf, name, hs_utf8_fit(name, bytes, columns > 0 ? columns - 1 : 0));
    hs_buf_str(buf, ELLIPSIS);
}

/*
 * Writes the last components of a path that fit. If not even the last one fits, writes its start.
 */
static void write_path(struct hs_buf *buf, const char *name, size_t bytes, size_t columns)
{
    size_t from = hs_utf8_fit_end(name, bytes, columns > 0 ? columns - 1 : 0);
    for (size_t at = from; at + 2 < bytes; at++) {
        if (strncmp(name + at, "::", 2) == 0) {
            hs_buf_str(buf, ELLIPSIS);
            hs_utf8_write(buf, name + at + 2, bytes - at - 2);
            return;
        }
    }
    size_t last = name[from] == ':' ? from + 1 : from;
    while (last >= 2 && strncmp(name + last - 2, "::", 2) != 0) {
        last--;
    }
    last = last < 2 ? 0 : last;
    write_start(buf, name + last, bytes - last, columns);
}

void hs_cxx_write_fit(struct hs_buf *buf, const char *name, size_t columns)
{
    struct hs_buf shorter = HS_BUF_INIT;
    for (enum hs_cxx_detail detail = HS_CXX_FULL; detail < HS_CXX_DETAIL_N; detail++) {
        shorter.bytes = 0;
        hs_cxx_write(&shorter, name, detail);
        if (hs_utf8_columns(hs_buf_text(&shorter), shorter.bytes) <= columns) {
            hs_utf8_write(buf, shorter.data ? shorter.data : "", shorter.bytes);
            hs_buf_deinit(&shorter);
            return;
        }
    }
    write_path(buf, hs_buf_text(&shorter), shorter.bytes, columns);
    hs_buf_deinit(&shorter);
}

const char *hs_cxx_last_component(const char *name, size_t *ret_bytes)
{
    const char *path = hs_cxx_skip_result_type(name);
    size_t start = 0;
    size_t end = 0;
    size_t at = 0;
    if (is_address(name)) {
        *ret_bytes = strlen(name);
        return name;
    }
    for (;;) {
        struct token token = next_token(path, at);
        if (token.kind == TOKEN_END || (token.kind == TOKEN_OPEN && token.bracket == '(')) {
            break;
        }
        if (token.kind == TOKEN_OPEN && !is_path_group(path, at)) {
            at = group_end(path, at); /* template arguments of this component */
            continue;
        }
        if (token.kind == TOKEN_OPEN) {
            at = group_end(path, at);
            end = at;
            continue;
        }
        if (path[at] == ':' && path[at + 1] == ':') {
            start = end = at + 2;
            at += 2;
            continue;
        }
        at += token.bytes;
        end = at;
    }
    *ret_bytes = end - start;
    return path + start;
}
