/*
 * See cxx_function.h.
 *
 * The text is only ever appended to, so what a name refers back to ("S1_") is a part of the text
 * that is there already: a substitution is the pair of its ends. A parsing function appends what
 * it reads and returns false at anything that it does not know.
 */
#include "symbol/cxx_function.h"

#include <stdint.h>
#include <string.h>

#include "rt/base.h"

/* libiberty refuses names of 1024 bytes and more. */
#define NAME_BYTES_MAX 1000U
#define SUBS_MAX       64U
#define DEPTH_MAX      64U

struct piece {
    uint32_t start, end; /* in the text */
};

struct parser {
    const char *at; /* the rest of the name */
    char *out;
    size_t bytes, capacity_bytes;
    struct piece subs[SUBS_MAX]; /* what S_, S0_ ... mean */
    size_t sub_count;
    unsigned depth;
    const char *last_name; /* the class, for its constructor; in the name. NULL: unknown */
    size_t last_name_bytes;
};

static bool parse_type(struct parser *p);

static bool put(struct parser *p, const char *text, size_t bytes)
{
    if (bytes >= p->capacity_bytes - p->bytes) {
        return false;
    }
    memcpy(p->out + p->bytes, text, bytes);
    p->bytes += bytes;
    return true;
}

static bool put_text(struct parser *p, const char *text)
{
    return put(p, text, strlen(text));
}

static char last_char(const struct parser *p)
{
    return p->bytes > 0 ? p->out[p->bytes - 1] : '\0';
}

/* The text from `start` on can be referred to from now on. */
static bool add_sub(struct parser *p, size_t start)
{
    if (p->sub_count == SUBS_MAX) {
        return false;
    }
    p->subs[p->sub_count++] = (struct piece){ (uint32_t)start, (uint32_t)p->bytes };
    return true;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Reads a length and a name of *ret_bytes bytes. NULL: there is none. */
static const char *read_name(struct parser *p, size_t *ret_bytes)
{
    size_t bytes = 0;
    if (*p->at == '0') {
        return NULL;
    }
    while (is_digit(*p->at)) {
        bytes = bytes * 10 + (size_t)(*p->at++ - '0');
        if (bytes > NAME_BYTES_MAX) {
            return NULL;
        }
    }
    if (bytes == 0 || strnlen(p->at, bytes) < bytes) {
        return NULL;
    }
    const char *name = p->at;
    p->at += bytes;
    *ret_bytes = bytes;
    return name;
}

/* A name and its tags, such as "[abi:cxx11]". */
static bool parse_source_name(struct parser *p)
{
    size_t bytes;
    const char *name = read_name(p, &bytes);
    if (!name) {
        return false;
    }
    /* As gcc writes an anonymous namespace. */
    bool is_anonymous = bytes >= 10 && memcmp(name, "_GLOBAL_", 8) == 0 &&
                        (name[8] == '.' || name[8] == '_' || name[8] == '$') && name[9] == 'N';
    p->last_name = is_anonymous ? NULL : name;
    p->last_name_bytes = bytes;
    bool is_known = is_anonymous ? put_text(p, "(anonymous namespace)") : put(p, name, bytes);
    while (is_known && *p->at == 'B') {
        p->at++;
        name = read_name(p, &bytes);
        is_known = name && put_text(p, "[abi:") && put(p, name, bytes) && put(p, "]", 1);
    }
    return is_known;
}

static const char *std_name(char c)
{
    switch (c) {
    case 'a':
        return "std::allocator";
    case 'b':
        return "std::basic_string";
    case 's':
        return "std::string";
    case 'i':
        return "std::istream";
    case 'o':
        return "std::ostream";
    case 'd':
        return "std::iostream";
    default:
        return NULL;
    }
}

/* S_, S0_, SA_ ..., or one of the names of the standard library. Not St. */
static bool parse_substitution(struct parser *p)
{
    size_t number = 0, is_later = 0;
    const char *name = std_name(p->at[1]);
    p->last_name = NULL;
    if (name) {
        p->at += 2;
        return put_text(p, name);
    }
    /* "S_" is the first one, "S0_" the second. */
    for (p->at++; *p->at != '_'; p->at++) {
        bool is_letter = *p->at >= 'A' && *p->at <= 'Z';
        if ((!is_letter && !is_digit(*p->at)) || is_later + number > SUBS_MAX) {
            return false;
        }
        number = number * 36 + (size_t)(is_letter ? *p->at - 'A' + 10 : *p->at - '0');
        is_later = 1;
    }
    p->at++;
    number += is_later;
    if (number >= p->sub_count) {
        return false;
    }
    struct piece piece = p->subs[number];
    return put(p, p->out + piece.start, piece.end - piece.start);
}

/* An integer as a template argument, behind the 'L'. */
static bool parse_literal(struct parser *p)
{
    static const char kinds[] = "ijlmxy";
    static const char *const suffixes[] = { "", "u", "l", "ul", "ll", "ull" };
    const char *kind = *p->at ? strchr(kinds, *p->at) : NULL;
    if (*p->at == 'b') {
        bool is_known = (p->at[1] == '0' || p->at[1] == '1') && p->at[2] == 'E';
        p->at += 3;
        return is_known && put_text(p, p->at[-2] == '1' ? "true" : "false");
    }
    if (kind) {
        p->at++;
    } else if ((*p->at != 'N' && !is_digit(*p->at)) || !put_text(p, "(") || !parse_type(p) ||
               !put_text(p, ")")) {
        return false; /* of an enum: "(type)1" */
    }
    if (*p->at == 'n' && !put(p, "-", 1)) {
        return false;
    }
    p->at += *p->at == 'n';
    size_t bytes = strspn(p->at, "0123456789");
    if (bytes == 0 || p->at[bytes] != 'E' || !put(p, p->at, bytes)) {
        return false;
    }
    p->at += bytes + 1;
    return !kind || put_text(p, suffixes[kind - kinds]);
}

/* "I...E" */
static bool parse_template_args(struct parser *p)
{
    const char *last_name = p->last_name;
    size_t last_name_bytes = p->last_name_bytes;
    if (last_char(p) == '<' || !put(p, "<", 1)) {
        return false;
    }
    p->at++;
    for (bool is_first = true; *p->at != 'E'; is_first = false) {
        if (!is_first && !put(p, ", ", 2)) {
            return false;
        }
        bool is_literal = *p->at == 'L';
        p->at += is_literal;
        if (!(is_literal ? parse_literal(p) : parse_type(p))) {
            return false;
        }
    }
    p->at++;
    p->last_name = last_name;
    p->last_name_bytes = last_name_bytes;
    return put_text(p, last_char(p) == '>' ? " >" : ">");
}

/* C1, D2 ...: constructors and destructors. */
static bool parse_structor(struct parser *p)
{
    bool is_known = p->last_name && (p->at[0] == 'C' ? p->at[1] >= '1' && p->at[1] <= '3'
                                                     : p->at[1] >= '0' && p->at[1] <= '2');
    bool is_destructor = p->at[0] == 'D';
    if (!is_known) {
        return false;
    }
    p->at += 2;
    return (!is_destructor || put(p, "~", 1)) && put(p, p->last_name, p->last_name_bytes);
}

static bool parse_operator(struct parser *p)
{
    static const char names[][8] = {
        "aN&=", "aS=",   "aa&&", "ad&",  "an&",  "cl()", "cm,",   "co~",  "dV/=", "de*", "dv/",
        "eO^=", "eo^",   "eq==", "ge>=", "gt>",  "ix[]", "lS<<=", "le<=", "ls<<", "lt<", "mI-=",
        "mL*=", "mi-",   "ml*",  "mm--", "ne!=", "ng-",  "nt!",   "oR|=", "oo||", "or|", "pL+=",
        "pl+",  "pm->*", "pp++", "ps+",  "pt->", "rM%=", "rS>>=", "rm%",  "rs>>",
    };
    for (size_t i = 0; i < HS_COUNT_OF(names); i++) {
        if (p->at[0] == names[i][0] && p->at[1] == names[i][1]) {
            p->at += 2;
            return put_text(p, "operator") && put_text(p, names[i] + 2);
        }
    }
    return false;
}

/* One name of a nested name. A function's name can be more than a class's. */
static bool parse_component(struct parser *p)
{
    switch (*p->at) {
    case 'C':
    case 'D':
        return parse_structor(p);
    case 'L': /* of internal linkage */
        p->at++;
        return is_digit(*p->at) && parse_source_name(p);
    default:
        return is_digit(*p->at) ? parse_source_name(p) : parse_operator(p);
    }
}

/* "N...E", without cv-qualifiers; *ret_is_template: it ends in template arguments. */
static bool parse_nested(struct parser *p, bool *ret_is_template)
{
    size_t start = p->bytes;
    bool is_template = false, is_sub = true;
    for (bool is_first = true; *p->at != 'E'; is_first = false) {
        is_sub = *p->at == 'S';
        if (is_sub && !is_first) {
            return false;
        }
        if (*p->at == 'I') {
            if (is_first || is_template || !parse_template_args(p)) {
                return false;
            }
            is_template = true;
        } else if (is_sub && p->at[1] == 't') {
            p->at += 2;
            p->last_name = NULL;
            is_template = false;
            if (*p->at == 'I' || *p->at == 'E' || !put_text(p, "std")) {
                return false;
            }
        } else {
            is_template = false;
            if ((!is_first && !put(p, "::", 2)) ||
                !(is_sub ? parse_substitution(p) : parse_component(p))) {
                return false;
            }
        }
        if (!is_sub && *p->at != 'E' && !add_sub(p, start)) {
            return false;
        }
    }
    p->at++;
    *ret_is_template = is_template;
    return !is_sub;
}

/* A class or an enum outside namespaces, or in std; with its template arguments. */
static bool parse_unscoped(struct parser *p, bool *ret_is_template)
{
    size_t start = p->bytes;
    bool is_sub = *p->at == 'S' && p->at[1] != 't';
    *ret_is_template = false;
    if (is_sub) {
        if (!parse_substitution(p)) {
            return false;
        }
    } else {
        if (*p->at == 'S') {
            p->at += 2;
            if (!put_text(p, "std::")) {
                return false;
            }
        }
        if (!is_digit(*p->at) || !parse_source_name(p)) {
            return false;
        }
    }
    if (*p->at != 'I') {
        return true;
    }
    *ret_is_template = true;
    return (is_sub || add_sub(p, start)) && parse_template_args(p);
}

static const char *builtin_type(char c)
{
    static const char *const names['z' - 'a' + 1] = {
        ['a' - 'a'] = "signed char", ['b' - 'a'] = "bool",
        ['c' - 'a'] = "char",        ['d' - 'a'] = "double",
        ['e' - 'a'] = "long double", ['f' - 'a'] = "float",
        ['g' - 'a'] = "__float128",  ['h' - 'a'] = "unsigned char",
        ['i' - 'a'] = "int",         ['j' - 'a'] = "unsigned int",
        ['l' - 'a'] = "long",        ['m' - 'a'] = "unsigned long",
        ['n' - 'a'] = "__int128",    ['o' - 'a'] = "unsigned __int128",
        ['s' - 'a'] = "short",       ['t' - 'a'] = "unsigned short",
        ['v' - 'a'] = "void",        ['w' - 'a'] = "wchar_t",
        ['x' - 'a'] = "long long",   ['y' - 'a'] = "unsigned long long",
        ['z' - 'a'] = "...",
    };
    return c >= 'a' && c <= 'z' ? names[c - 'a'] : NULL;
}

/* A pointer, a reference or a constant of another type. */
static bool parse_modified(struct parser *p, const char *mark)
{
    char kind = *p->at++;
    if (*p->at == 'K' && kind == 'K') {
        return false;
    }
    /* References to references, and qualified ones, have rules of their own. */
    return parse_type(p) && last_char(p) != '&' && put_text(p, mark);
}

static bool parse_new_type(struct parser *p, size_t start)
{
    bool is_template = false, is_known;
    switch (*p->at) {
    case 'P':
        is_known = parse_modified(p, "*");
        break;
    case 'R':
        is_known = parse_modified(p, "&");
        break;
    case 'O':
        is_known = parse_modified(p, "&&");
        break;
    case 'K':
        is_known = parse_modified(p, " const");
        break;
    case 'N':
        p->at++;
        is_known = parse_nested(p, &is_template);
        break;
    case 'S': {
        bool is_std = p->at[1] == 't';
        is_known = parse_unscoped(p, &is_template);
        if (!is_std && !is_template) {
            return is_known; /* it can be referred to already */
        }
        break;
    }
    default:
        is_known = is_digit(*p->at) && parse_unscoped(p, &is_template);
        break;
    }
    return is_known && add_sub(p, start);
}

static bool parse_type(struct parser *p)
{
    const char *builtin = builtin_type(*p->at);
    if (builtin) {
        p->at++;
        return put_text(p, builtin);
    }
    if (p->depth == DEPTH_MAX) {
        return false;
    }
    p->depth++;
    bool is_known = parse_new_type(p, p->bytes);
    p->depth--;
    return is_known;
}

static bool parse_parameters(struct parser *p)
{
    if (*p->at == 'v' && p->at[1] == '\0') {
        p->at++;
        return put(p, "()", 2);
    }
    bool is_known = put(p, "(", 1);
    for (bool is_first = true; is_known && *p->at != '\0'; is_first = false) {
        is_known = *p->at != 'v' && (is_first || put(p, ", ", 2)) && parse_type(p);
    }
    return is_known && put(p, ")", 1);
}

bool hs_cxx_function_demangle(const char *name, char *out, size_t out_bytes)
{
    struct parser p = { .at = name + 2, .out = out, .capacity_bytes = out_bytes };
    bool is_const = false, is_template = false, is_known;
    if (out_bytes == 0 || name[0] != '_' || name[1] != 'Z' ||
        strnlen(name, NAME_BYTES_MAX) == NAME_BYTES_MAX) {
        return false;
    }
    if (*p.at == 'N') {
        p.at++;
        is_const = *p.at == 'K';
        p.at += is_const;
        is_known = parse_nested(&p, &is_template);
    } else {
        bool is_std = *p.at == 'S' && p.at[1] == 't';
        p.at += *p.at == 'L';
        is_known = (is_std || is_digit(*p.at)) && parse_unscoped(&p, &is_template);
    }
    /* A function template's parameters follow the type that it returns. */
    if (!is_known || is_template || (*p.at == '\0' && is_const)) {
        return false;
    }
    is_known = *p.at == '\0' || parse_parameters(&p);
    is_known = is_known && (!is_const || put_text(&p, " const"));
    if (is_known) {
        out[p.bytes] = '\0';
    }
    return is_known;
}
