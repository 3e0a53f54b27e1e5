/*
 * Expands macros: name!(arguments) becomes the macro's body, with its $parameters replaced.
 *
 * Arguments are the texts between commas outside nested parentheses. They are expanded where they
 * are written, before they are substituted into the body, so that a macro of the caller's has the
 * meaning that it has there. The body is expanded in turn. Depth, number and length are bounded, so
 * that every expansion ends.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "rt/base.h"
#include "sql/language/session_state.h"
#include "sql/language/unknown_name.h"
#include "util/array.h"

struct argument {
    const char *text;
    size_t bytes;
};

/* One level of expansion: a text, its origin, and the values of its variables. */
struct level {
    const char *text;
    size_t begin_off, end_off;
    const struct hs_sql_macro *macro; /* NULL: the script itself */
    const struct argument *arguments; /* of the macro */
    size_t invocation_off;            /* position in the script, for the text of a macro */
    unsigned depth;
};

static int expand_level(struct hs_sql *sql, const struct hs_sql_place *place,
                        const struct level *level, struct hs_sql_text *out);

void hs_sql_text_deinit(struct hs_sql_text *out)
{
    hs_buf_deinit(&out->buf);
    free(out->pieces);
}

size_t hs_sql_text_source(const struct hs_sql_text *out, size_t out_off)
{
    size_t found = 0;
    for (size_t i = 0; i < out->piece_count && out->pieces[i].out_off <= out_off; i++) {
        const struct hs_sql_piece *piece = &out->pieces[i];
        found = piece->source_off + (piece->is_literal ? out_off - piece->out_off : 0);
    }
    return found;
}

static int add(struct hs_sql_text *out, const char *text, size_t bytes, size_t source_off,
               bool is_literal)
{
    int err = hs_array_reserve(&out->pieces, &out->piece_capacity, out->piece_count + 1,
                               sizeof(out->pieces[0]));
    if (err < 0 || !out->pieces) {
        return -ENOMEM;
    }
    if (out->buf.bytes + bytes > HS_SQL_TEXT_BYTES_MAX) {
        return -E2BIG;
    }
    const struct hs_sql_piece *last =
        out->piece_count > 0 ? &out->pieces[out->piece_count - 1] : NULL;
    bool is_same =
        last && last->is_literal == is_literal &&
        last->source_off + (is_literal ? out->buf.bytes - last->out_off : 0) == source_off;
    if (!is_same) {
        out->pieces[out->piece_count++] =
            (struct hs_sql_piece){ out->buf.bytes, source_off, is_literal };
    }
    hs_buf_add(&out->buf, text, bytes);
    return out->buf.err;
}

static size_t source_of(const struct level *level, size_t off)
{
    return level->macro ? level->invocation_off : off;
}

struct hs_sql_macro *hs_sql_macro_find(struct hs_sql *sql, const char *name, size_t name_bytes)
{
    for (size_t i = 0; i < sql->macro_count; i++) {
        const char *known = sql->macros[i].name;
        if (strlen(known) == name_bytes && strncasecmp(known, name, name_bytes) == 0) {
            return &sql->macros[i];
        }
    }
    return NULL;
}

void hs_sql_macro_deinit(struct hs_sql_macro *macro)
{
    for (size_t i = 0; i < macro->param_count; i++) {
        free(macro->params[i]);
    }
    free(macro->params);
    free(macro->name);
    free(macro->body);
}

/* The text without surrounding white space. */
static struct argument trimmed(const char *text, size_t begin, size_t end)
{
    struct hs_sql_token token = hs_sql_token_solid(text, end, begin);
    begin = token.begin_off < end ? token.begin_off : end;
    size_t solid_end = begin;
    while (token.kind != HS_SQL_TOKEN_END) {
        solid_end = token.begin_off + token.bytes;
        token = hs_sql_token_solid(text, end, solid_end);
    }
    return (struct argument){ text + begin, solid_end - begin };
}

/* Splits the arguments in the parenthesis that opens at `off`. Returns the offset after the closing
 * parenthesis, 0 if it is missing. Empty parentheses contain no argument. */
static size_t split_arguments(const char *text, size_t end, size_t off, struct argument *arguments,
                              size_t *ret_count)
{
    unsigned depth = 0;
    size_t begin = off + 1, count = 0;
    struct hs_sql_token token = hs_sql_token_at(text, end, off);
    for (; token.kind != HS_SQL_TOKEN_END;
         token = hs_sql_token_at(text, end, token.begin_off + token.bytes)) {
        bool is_open = hs_sql_token_is(text, token, "(");
        bool is_close = hs_sql_token_is(text, token, ")");
        bool is_comma = depth == 1 && hs_sql_token_is(text, token, ",");
        depth += is_open ? 1 : 0;
        depth -= is_close ? 1 : 0;
        bool is_last = is_close && depth == 0;
        if ((is_comma || is_last) && count < HS_SQL_PARAMETERS_MAX) {
            arguments[count] = trimmed(text, begin, token.begin_off);
            count += is_comma || count > 0 || arguments[count].bytes > 0 ? 1 : 0;
            begin = token.begin_off + 1;
        }
        if (is_last) {
            *ret_count = count;
            return token.begin_off + 1;
        }
    }
    return 0;
}

static int fail_too_much(struct hs_sql *sql, const struct hs_sql_place *place, size_t off)
{
    return hs_sql_fail_at(sql, place, off,
                          "macros expand to too much here: more than %u levels, %u invocations or "
                          "%u MiB of text",
                          HS_SQL_MACRO_DEPTH, HS_SQL_EXPANSIONS_MAX, HS_SQL_TEXT_BYTES_MAX >> 20);
}

/* Expands a text that is not part of the script into a separate buffer. */
static int expand_apart(struct hs_sql *sql, const struct hs_sql_place *place,
                        const struct level *level, struct argument text, struct hs_sql_text *out)
{
    struct level inner = *level;
    inner.begin_off = (size_t)(text.text - level->text);
    inner.end_off = inner.begin_off + text.bytes;
    return expand_level(sql, place, &inner, out);
}

static int invoke(struct hs_sql *sql, const struct hs_sql_place *place, const struct level *level,
                  const struct hs_sql_macro *macro, const struct argument *arguments, size_t off,
                  struct hs_sql_text *out)
{
    const struct level inner = {
        .text = macro->body,
        .end_off = strlen(macro->body),
        .macro = macro,
        .arguments = arguments,
        .invocation_off = source_of(level, off),
        .depth = level->depth + 1,
    };
    return expand_level(sql, place, &inner, out);
}

/* __intrinsic_token_...: apply(list, list, macro) invokes the macro once for each pair of elements,
 * and joins the results. */
static int apply_pairs(struct hs_sql *sql, const struct hs_sql_place *place,
                       const struct level *level, const struct argument *args, size_t list_count,
                       const char *join, bool is_leading, size_t off, struct hs_sql_text *out)
{
    struct argument lists[2][HS_SQL_PARAMETERS_MAX];
    size_t counts[2] = { 0, 0 };
    for (size_t i = 0; i < list_count; i++) {
        if (args[i].bytes == 0 || args[i].text[0] != '(' ||
            split_arguments(args[i].text, args[i].bytes, 0, lists[i], &counts[i]) == 0) {
            return hs_sql_fail_at(sql, place, source_of(level, off),
                                  "a list is expected here: (a, b, c)");
        }
    }
    if (list_count == 2 && counts[0] != counts[1]) {
        return hs_sql_fail_at(sql, place, source_of(level, off),
                              "the lists have %zu and %zu elements", counts[0], counts[1]);
    }
    struct hs_sql_macro *macro =
        hs_sql_macro_find(sql, args[list_count].text, args[list_count].bytes);
    if (!macro || macro->param_count != list_count) {
        return hs_sql_fail_at(sql, place, source_of(level, off),
                              "there is no macro %.*s with %zu arguments",
                              (int)args[list_count].bytes, args[list_count].text, list_count);
    }
    int err = 0;
    for (size_t i = 0; i < counts[0] && err == 0; i++) {
        const struct argument pair[2] = { lists[0][i], lists[1][i] };
        if (i > 0 || is_leading) {
            err = add(out, join, strlen(join), source_of(level, off), false);
        }
        err = err ? err : invoke(sql, place, level, macro, pair, off, out);
    }
    return err;
}

static int stringify(const struct level *level, struct argument text, size_t off,
                     struct hs_sql_text *out)
{
    size_t source = source_of(level, off);
    int err = add(out, "'", 1, source, false);
    for (size_t i = 0; i < text.bytes && err == 0; i++) {
        err = add(out, text.text[i] == '\'' ? "''" : &text.text[i], text.text[i] == '\'' ? 2 : 1,
                  source, false);
    }
    return err ? err : add(out, "'", 1, source, false);
}

static const struct intrinsic {
    const char *name;
    size_t argument_count, list_count;
    const char *join;
    bool is_leading;
} intrinsics[] = {
    { "__intrinsic_stringify", 1, 0, NULL, false },
    { "__intrinsic_token_comma", 0, 0, ",", false },
    { "__intrinsic_token_apply", 3, 2, ", ", false },
    { "__intrinsic_token_apply_prefix", 3, 2, ", ", true },
    { "__intrinsic_token_apply_and", 3, 2, " AND ", false },
    { "__intrinsic_token_apply_and_prefix", 3, 2, " AND ", true },
    { "__intrinsic_token_map_join", 3, 1, NULL, false },
    { "__intrinsic_token_zip_join", 4, 2, NULL, false },
};

static int run_intrinsic(struct hs_sql *sql, const struct hs_sql_place *place,
                         const struct level *level, const struct intrinsic *intrinsic,
                         const struct argument *args, size_t off, struct hs_sql_text *out)
{
    if (intrinsic->list_count > 0) {
        char joined[64];
        const char *join = intrinsic->join;
        if (!join) {
            const struct argument *last = &args[intrinsic->argument_count - 1];
            snprintf(joined, sizeof(joined), " %.*s ", (int)last->bytes, last->text);
            join = joined;
        }
        return apply_pairs(sql, place, level, args, intrinsic->list_count, join,
                           intrinsic->is_leading, off, out);
    }
    return intrinsic->join
               ? add(out, intrinsic->join, strlen(intrinsic->join), source_of(level, off), false)
               : stringify(level, args[0], off, out);
}

static const struct intrinsic *find_intrinsic(const char *name, size_t bytes)
{
    for (size_t i = 0; i < HS_COUNT_OF(intrinsics); i++) {
        if (strlen(intrinsics[i].name) == bytes &&
            strncasecmp(intrinsics[i].name, name, bytes) == 0) {
            return &intrinsics[i];
        }
    }
    return NULL;
}

static int fail_unknown(struct hs_sql *sql, const struct hs_sql_place *place, size_t off,
                        const char *name, size_t name_bytes)
{
    struct hs_buf meant = HS_BUF_INIT;
    hs_sql_unknown_macro(sql, name, name_bytes, &meant);
    int err = hs_sql_fail_at(sql, place, off, "there is no macro %.*s!%s", (int)name_bytes, name,
                             hs_buf_text(&meant));
    hs_buf_deinit(&meant);
    return err;
}

/* Expands name!(...) with arguments that were already expanded. */
static int run_macro(struct hs_sql *sql, const struct hs_sql_place *place,
                     const struct level *level, struct hs_sql_token name,
                     const struct argument *args, size_t arg_count, struct hs_sql_text *out)
{
    const char *text = level->text + name.begin_off;
    size_t off = source_of(level, name.begin_off);
    struct hs_sql_macro *macro = hs_sql_macro_find(sql, text, name.bytes);
    const struct intrinsic *intrinsic = find_intrinsic(text, name.bytes);
    if (!macro && !intrinsic) {
        return fail_unknown(sql, place, off, text, name.bytes);
    }
    size_t wanted = macro ? macro->param_count : intrinsic->argument_count;
    if (arg_count != wanted) {
        return hs_sql_fail_at(sql, place, off, "macro %.*s! takes %zu arguments, %zu are given",
                              (int)name.bytes, text, wanted, arg_count);
    }
    if (level->depth >= HS_SQL_MACRO_DEPTH || ++out->expansion_count > HS_SQL_EXPANSIONS_MAX) {
        return fail_too_much(sql, place, off);
    }
    return macro ? invoke(sql, place, level, macro, args, name.begin_off, out)
                 : run_intrinsic(sql, place, level, intrinsic, args, name.begin_off, out);
}

static int expand_invocation(struct hs_sql *sql, const struct hs_sql_place *place,
                             const struct level *level, struct hs_sql_token name, size_t open_off,
                             size_t *ret_end_off, struct hs_sql_text *out)
{
    struct argument *raw = calloc(2 * HS_SQL_PARAMETERS_MAX, sizeof(*raw));
    struct hs_sql_text *made = calloc(HS_SQL_PARAMETERS_MAX, sizeof(*made));
    size_t count = 0, made_count = 0;
    int err = raw && made ? 0 : -ENOMEM;
    if (err == 0) {
        *ret_end_off = split_arguments(level->text, level->end_off, open_off, raw, &count);
        if (*ret_end_off == 0) {
            err = hs_sql_fail_at(sql, place, source_of(level, open_off),
                                 "this parenthesis is never closed");
        }
    }
    struct argument *args = raw ? raw + HS_SQL_PARAMETERS_MAX : NULL;
    for (; made_count < count && err == 0; made_count++) {
        made[made_count].expansion_count = out->expansion_count;
        struct level deeper = *level;
        deeper.depth++;
        err = level->depth >= HS_SQL_MACRO_DEPTH
                  ? fail_too_much(sql, place, source_of(level, open_off))
                  : expand_apart(sql, place, &deeper, raw[made_count], &made[made_count]);
        out->expansion_count = made[made_count].expansion_count;
        args[made_count] =
            (struct argument){ hs_buf_text(&made[made_count].buf), made[made_count].buf.bytes };
    }
    err = err ? err : run_macro(sql, place, level, name, args, count, out);
    for (size_t i = 0; i < made_count; i++) {
        hs_sql_text_deinit(&made[i]);
    }
    free(made);
    free(raw);
    return err;
}

/* The value of a $variable. NULL: it stays unchanged, because it belongs to the body of a
 * function. */
static const struct argument *find_argument(const struct level *level, struct hs_sql_token token)
{
    for (size_t i = 0; level->macro && i < level->macro->param_count; i++) {
        const char *param = level->macro->params[i];
        if (strlen(param) == token.bytes - 1 &&
            strncmp(param, level->text + token.begin_off + 1, token.bytes - 1) == 0) {
            return &level->arguments[i];
        }
    }
    return NULL;
}

static int expand_level(struct hs_sql *sql, const struct hs_sql_place *place,
                        const struct level *level, struct hs_sql_text *out)
{
    const char *text = level->text;
    int err = 0;
    size_t off = level->begin_off;
    while (err == 0 && off < level->end_off) {
        struct hs_sql_token token = hs_sql_token_at(text, level->end_off, off);
        size_t end = off + token.bytes;
        const struct argument *argument =
            token.kind == HS_SQL_TOKEN_VARIABLE ? find_argument(level, token) : NULL;
        struct hs_sql_token bang = { HS_SQL_TOKEN_END, 0, 0 }, open = bang;
        if (token.kind == HS_SQL_TOKEN_WORD || argument) {
            bang = hs_sql_token_at(text, level->end_off, end);
            open = hs_sql_token_solid(text, level->end_off, end + 1);
        }
        bool is_macro = hs_sql_token_is(text, bang, "!") && hs_sql_token_is(text, open, "(");
        if (is_macro && token.kind == HS_SQL_TOKEN_WORD) {
            err = expand_invocation(sql, place, level, token, open.begin_off, &end, out);
        } else if (argument) {
            err = add(out, argument->text, argument->bytes, level->invocation_off, false);
        } else {
            err = add(out, text + off, token.bytes, source_of(level, off), !level->macro);
        }
        off = end;
    }
    return err == -E2BIG ? fail_too_much(sql, place, source_of(level, off)) : err;
}

int hs_sql_expand(struct hs_sql *sql, const struct hs_sql_place *place, size_t begin_off,
                  size_t end_off, struct hs_sql_text *out)
{
    const struct level level = { .text = place->text, .begin_off = begin_off, .end_off = end_off };
    return expand_level(sql, place, &level, out);
}
