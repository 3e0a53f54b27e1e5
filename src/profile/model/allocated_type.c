/*
 * Reads types from the names of frames: see allocated_type.h.
 *
 * A demangled name of a function template begins with the type that it returns. So a name is looked
 * for at each place where one can begin: at the start, and behind a blank that is in no brackets.
 */
#include "profile/model/allocated_type.h"

#include <string.h>

#include "rt/base.h"

/* Functions that allocate bytes, and what stands between them and the function of a library. */
static const char *const plain_names[] = {
    "operator new(",
    "operator new[](",
    "malloc",
    "calloc",
    "realloc",
    "aligned_alloc",
    "posix_memalign",
    "memalign",
    "__libc_malloc",
    "std::__1::__libcpp_allocate",
    "std::__libcpp_allocate",
    "void* std::__1::__libcpp_operator_new<",
    "void* std::__libcpp_operator_new<",
    "void* heapscope::detail::get_storage<",
};

enum form_kind {
    FORM_ALLOCATOR, /* allocates memory for any number of objects, and nothing else */
    FORM_TRAITS,    /* the same; the argument is an allocator, of which the first argument counts */
    FORM_TEXT,      /* allocates memory for characters, and nothing else */
    FORM_GIVEN,     /* of heapscope/typed.hpp: allocates memory for any number of objects */
    FORM_GIVEN_ONE, /* the same, for one */
    FORM_MAKER,     /* makes one object, whose constructor may allocate, too */
};

/* PREFIX type ... > SUFFIX */
static const struct form {
    const char *prefix, *suffix;
    enum form_kind kind;
} forms[] = {
    { "__gnu_cxx::new_allocator<", "::allocate", FORM_ALLOCATOR },
    { "__gnu_cxx::malloc_allocator<", "::allocate", FORM_ALLOCATOR },
    { "__gnu_cxx::__alloc_traits<", "::allocate", FORM_TRAITS },
    { "std::__new_allocator<", "::allocate", FORM_ALLOCATOR },
    { "std::allocator<", "::allocate", FORM_ALLOCATOR },
    { "std::allocator_traits<", "::allocate", FORM_TRAITS },
    { "std::basic_string<", "::_M_", FORM_TEXT },
    { "std::basic_string<", "::_Rep::_S_create(", FORM_TEXT },
    { "std::basic_string<", "::reserve(", FORM_TEXT },
    { "std::basic_string<", "::__grow_by", FORM_TEXT },
    { "heapscope::typed_allocator<", "::allocate(", FORM_GIVEN },
    { "heapscope::detail::typed_storage<", "(", FORM_GIVEN_ONE },
    { "std::make_unique<", "(", FORM_MAKER },
    { "std::make_unique_for_overwrite<", "(", FORM_MAKER },
    { "std::make_shared<", "(", FORM_MAKER },
    { "std::make_shared_for_overwrite<", "(", FORM_MAKER },
    { "std::allocate_shared<", "(", FORM_MAKER },
};

/* Of these, containers and smart pointers allocate one at a time. */
static const char *const single_names[] = {
    "std::_Rb_tree_node<",
    "std::_List_node<",
    "std::_Fwd_list_node<",
    "std::__detail::_Hash_node<",
    "std::_Sp_counted_ptr_inplace<",
    "std::__tree_node<",
    "std::__list_node<",
    "std::__forward_list_node<",
    "std::__hash_node<",
    "std::__shared_ptr_emplace<",
};

/* Inline namespaces of libraries, which are not in the forms. */
static const char *const inline_names[] = { "std::__1::", "std::__ndk1::", "std::__cxx11::" };

static bool begins_with(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* Where `text` goes on behind the prefix. NULL: it does not begin with it. */
static const char *behind_prefix(const char *text, const char *prefix)
{
    const char *std = "std::";
    for (size_t i = 0; i < HS_COUNT_OF(inline_names) && begins_with(prefix, std); i++) {
        if (begins_with(text, inline_names[i])) {
            text += strlen(inline_names[i]);
            prefix += strlen(std);
        }
    }
    return begins_with(text, prefix) ? text + strlen(prefix) : NULL;
}

/* The brackets that are open at a place. */
struct depth {
    unsigned round; /* and square and curly ones */
    unsigned angle; /* outside of all others: inside, it may be an operator */
};

/* Takes one character; `before` is the one before it, or 0. */
static void step(struct depth *depth, char before, char c)
{
    if (c == '(' || c == '[' || c == '{') {
        depth->round++;
    } else if ((c == ')' || c == ']' || c == '}') && depth->round > 0) {
        depth->round--;
    } else if (c == '<' && depth->round == 0) {
        depth->angle++;
    } else if (c == '>' && depth->round == 0 && depth->angle > 0 && before != '-') {
        depth->angle--;
    }
}

/* The end of the template argument at `text`: at the comma or bracket behind it. NULL: none. */
static const char *argument_end(const char *text)
{
    struct depth depth = { 0 };
    for (const char *at = text; *at != '\0'; at++) {
        bool is_outside = depth.round == 0 && depth.angle == 0;
        if (is_outside && (*at == ',' || *at == '>' || *at == ')')) {
            return *at == ')' ? NULL : at;
        }
        step(&depth, at > text ? at[-1] : '\0', *at);
    }
    return NULL;
}

/* Behind the bracket that ends the arguments, of which the one at `text` is in the list. */
static const char *list_end(const char *text)
{
    const char *end = argument_end(text);
    while (end && *end == ',') {
        end = argument_end(end + 1);
    }
    return end ? end + 1 : NULL;
}

static bool copy_type(const char *type, char *ret_name, size_t room_bytes)
{
    const char *end = argument_end(type);
    while (end && end > type && end[-1] == ' ') {
        end--;
    }
    size_t bytes = end ? (size_t)(end - type) : 0;
    if (bytes == 0 || bytes >= room_bytes) {
        return false;
    }
    memcpy(ret_name, type, bytes);
    ret_name[bytes] = '\0';
    return true;
}

/* Makes the name that of any number of objects, unless they are allocated one at a time. */
static bool make_array(char *name, size_t room_bytes)
{
    size_t bytes = strlen(name);
    for (size_t i = 0; i < HS_COUNT_OF(single_names); i++) {
        if (behind_prefix(name, single_names[i])) {
            return true;
        }
    }
    if (bytes + sizeof("[]") > room_bytes) {
        return false;
    }
    memcpy(name + bytes, "[]", sizeof("[]"));
    return true;
}

static bool take_form(const struct form *form, const struct hs_allocating_frame *frame,
                      const char *text, char *ret_name, size_t room_bytes)
{
    const char *type = behind_prefix(text, form->prefix);
    const char *end = type ? list_end(type) : NULL;
    if (!end || !begins_with(end, form->suffix) || (form->kind == FORM_MAKER && !frame->is_exact)) {
        return false;
    }
    if (form->kind == FORM_TRAITS) {
        type = strchr(type, '<');
        type = type && type < end ? type + 1 : NULL;
    }
    bool is_one = form->kind == FORM_MAKER || form->kind == FORM_GIVEN_ONE;
    return type && copy_type(type, ret_name, room_bytes) &&
           (is_one || make_array(ret_name, room_bytes));
}

static enum hs_allocated take_frame(const struct hs_allocating_frame *frame, char *ret_name,
                                    size_t room_bytes)
{
    struct depth depth = { 0 };
    enum hs_allocated found = HS_ALLOCATED_UNKNOWN;
    for (const char *at = frame->name; *at != '\0' && found == HS_ALLOCATED_UNKNOWN; at++) {
        bool is_start =
            at == frame->name || (at[-1] == ' ' && depth.round == 0 && depth.angle == 0);
        for (size_t i = 0; i < HS_COUNT_OF(forms) && is_start && found == HS_ALLOCATED_UNKNOWN;
             i++) {
            bool is_given = forms[i].kind == FORM_GIVEN || forms[i].kind == FORM_GIVEN_ONE;
            if (take_form(&forms[i], frame, at, ret_name, room_bytes)) {
                found = is_given ? HS_ALLOCATED_GIVEN : HS_ALLOCATED_NAMED;
            }
        }
        step(&depth, at > frame->name ? at[-1] : '\0', *at);
    }
    return found;
}

static bool is_plain(const char *frame)
{
    bool is_one = false;
    for (size_t i = 0; i < HS_COUNT_OF(plain_names); i++) {
        const char *name = plain_names[i];
        size_t bytes = strlen(name);
        is_one |= begins_with(frame, name) &&
                  (name[bytes - 1] == '(' || name[bytes - 1] == '<' || frame[bytes] == '\0' ||
                   frame[bytes] == '(' || frame[bytes] == '[' || frame[bytes] == '@');
    }
    return is_one;
}

/* --- do the functions agree? ------------------------------------------------------------------ */

/* A compiler may make one function of two that do the same for types of one size, which then has
 * the name of one of them. So what called it in the library must have the type in its name, too. */

/* Is it a function of the library that has template arguments? */
static bool is_of_library(const char *frame)
{
    struct depth depth = { 0 };
    bool is_one = false;
    for (const char *at = frame; *at != '\0' && !is_one; at++) {
        bool is_start = at == frame || (at[-1] == ' ' && depth.round == 0 && depth.angle == 0);
        is_one = is_start && (begins_with(at, "std::") || begins_with(at, "__gnu_cxx::"));
        step(&depth, at > frame ? at[-1] : '\0', *at);
    }
    return is_one && strchr(frame, '<');
}

/* Has the name the `bytes` at `type` in it, as a whole word? */
static bool has_word(const char *name, const char *type, size_t bytes)
{
    const char *at = bytes > 0 ? name : "";
    for (; *at != '\0'; at++) {
        char behind = strncmp(at, type, bytes) == 0 ? at[bytes] : 'x';
        if (behind != '_' && !(behind >= '0' && behind <= '9') &&
            !((behind | 0x20) >= 'a' && (behind | 0x20) <= 'z')) {
            return true;
        }
    }
    return false;
}

/* The part of a type's name that the names of its containers contain: without "[]" and "*", and of
 * a node what it contains. */
static const char *essence(const char *type, size_t *ret_bytes)
{
    const char *end = type + strlen(type);
    for (size_t i = 0; i < HS_COUNT_OF(single_names); i++) {
        const char *inner = behind_prefix(type, single_names[i]);
        const char *inner_end = inner ? argument_end(inner) : NULL;
        type = inner_end ? inner : type;
        end = inner_end ? inner_end : end;
    }
    while (end > type && strchr("[]* ", end[-1])) {
        end--;
    }
    *ret_bytes = (size_t)(end - type);
    return type;
}

static bool do_agree(const struct hs_allocating_frame *frames, size_t frame_count, const char *type)
{
    size_t bytes;
    const char *word = essence(type, &bytes);
    bool is_same = true;
    for (size_t i = 0; i < frame_count && is_same && is_of_library(frames[i].name); i++) {
        is_same = has_word(frames[i].name, word, bytes);
    }
    return is_same;
}

enum hs_allocated hs_allocated_type(const struct hs_allocating_frame *frames, size_t frame_count,
                                    char *ret_name, size_t room_bytes)
{
    size_t i = 0;
    while (i < frame_count && is_plain(frames[i].name)) {
        i++;
    }
    if (i == frame_count) {
        return HS_ALLOCATED_UNKNOWN;
    }
    enum hs_allocated found = take_frame(&frames[i], ret_name, room_bytes);
    /* Characters are allocated by functions of the library that are there already. */
    bool is_text = found == HS_ALLOCATED_NAMED && strcmp(ret_name, "char[]") == 0;
    return found == HS_ALLOCATED_NAMED && !is_text &&
                   !do_agree(frames + i + 1, frame_count - i - 1, ret_name)
               ? HS_ALLOCATED_UNKNOWN
               : found;
}
