/*
 * From frames to the types of parts: see frame_types.h.
 */
#include "profile/model/frame_types.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profile/model/allocated_type.h"
#include "util/array.h"
#include "util/intern_array.h"

#define FRAMES_MAX                                                                                 \
    8U /* of the innermost frames: functions that allocate, and the one that calls them */
#define NAME_BYTES_MAX 1024U

/* What the stack of a node says. */
struct node_type {
    uint32_t type; /* string */
    bool is_looked_at;
    bool is_given; /* by the program */
};

struct typing {
    struct hs_profile *profile;
    size_t string_capacity;
    struct hs_intern_array names; /* of types */
    uint32_t *name_ids;           /* of each: its string */
    struct node_type *of_node;
};

/* The string of a type's name; `id`: if it is in the profile already; 0: adds it. */
static int put_name(struct typing *typing, const char *name, uint32_t id, uint32_t *ret_id)
{
    struct hs_profile *p = typing->profile;
    struct hs_intern_key key = hs_intern_hash(name, strlen(name));
    uint32_t *known;
    bool is_new;
    int r = hs_intern_at(&typing->names, &typing->name_ids, sizeof(*known), key, (void **)&known,
                         &is_new);
    if (r < 0 || !is_new) {
        *ret_id = r == 0 ? *known : 0;
        return r;
    }
    *known = *ret_id = id;
    if (id != 0) {
        return 0;
    }
    r = hs_array_reserve(&p->strings, &typing->string_capacity, (size_t)p->string_count + 1,
                         sizeof(p->strings[0]));
    char *copy = r == 0 ? strdup(name) : NULL;
    if (!copy) {
        return -ENOMEM;
    }
    p->strings[p->string_count] = copy;
    *known = *ret_id = p->string_count++;
    return 0;
}

static size_t list_frames(const struct hs_profile *p, uint32_t node,
                          struct hs_allocating_frame ret_frames[FRAMES_MAX])
{
    size_t count = 0;
    for (; node != HS_NODE_NONE && count < FRAMES_MAX; node = p->nodes[node].parent) {
        const struct hs_profile_frame *frame = &p->frames[p->nodes[node].frame];
        if (frame->line_count == 0) {
            ret_frames[count++] =
                (struct hs_allocating_frame){ hs_profile_string(p, frame->name), false };
        }
        for (uint32_t i = 0; i < frame->line_count && count < FRAMES_MAX; i++) {
            const struct hs_profile_line *line = &p->lines[frame->line_first + i];
            ret_frames[count++] =
                (struct hs_allocating_frame){ hs_profile_string(p, line->function),
                                              line->line != 0 };
        }
    }
    return count;
}

/* The type that a stack allocates. */
static int find_type(struct typing *typing, uint32_t node, struct node_type *ret_type)
{
    struct node_type *known = &typing->of_node[node];
    struct hs_allocating_frame frames[FRAMES_MAX];
    char name[NAME_BYTES_MAX];
    int r = 0;
    if (!known->is_looked_at) {
        size_t count = list_frames(typing->profile, node, frames);
        enum hs_allocated allocated = hs_allocated_type(frames, count, name, sizeof(name));
        if (allocated != HS_ALLOCATED_UNKNOWN) {
            r = put_name(typing, name, 0, &known->type);
        }
        known->is_given = allocated == HS_ALLOCATED_GIVEN;
        known->is_looked_at = true;
    }
    *ret_type = *known;
    return r;
}

/* Is `type` an array of what was read? */
static bool is_array_of(const char *type, const char *read)
{
    size_t bytes = strlen(read);
    return strncmp(type, read, bytes) == 0 && strcmp(type + bytes, "[]") == 0;
}

static bool is_known(const struct hs_profile *p, uint32_t type)
{
    return type != 0 && strcmp(hs_profile_string(p, type), HS_PART_NOT_READ_NAME) != 0;
}

/* Does what the stack says have precedence over what was read in memory? */
static bool has_precedence(const struct hs_profile *p, const struct node_type *by_stack,
                           uint32_t read)
{
    return by_stack->type != 0 &&
           (by_stack->is_given || !is_known(p, read) ||
            is_array_of(hs_profile_string(p, by_stack->type), hs_profile_string(p, read)));
}

static int type_part(struct typing *typing, bool has_types, struct hs_profile_part *part,
                     bool *is_found)
{
    struct node_type by_stack;
    bool is_fixed = part->is_others || part->is_type_given;
    int r = is_fixed ? 0 : find_type(typing, part->node, &by_stack);
    if (is_fixed || r < 0) {
        return r;
    }
    if (has_precedence(typing->profile, &by_stack, part->type)) {
        part->type = by_stack.type;
        *is_found = true;
    } else if (part->type == 0 && !has_types) {
        r = put_name(typing, HS_PART_NOT_READ_NAME, 0, &part->type);
    }
    return r;
}

/* The types of a dump whose memory was not read are those of frames, if there are any. */
static int type_parts(struct typing *typing, struct hs_profile_dump *dump)
{
    struct hs_profile *p = typing->profile;
    bool is_found = false;
    int r = 0;
    for (unsigned view = 0; view < HS_PART_VIEWS; view++) {
        for (uint32_t i = 0; i < dump->parts_n[view] && r == 0; i++) {
            r = type_part(typing, dump->has_types, &p->parts[dump->part_first[view] + i],
                          &is_found);
        }
    }
    dump->has_types |= is_found;
    return r;
}

/* Blocks have the types that their parts have. */
static int type_blocks(struct typing *typing, const struct hs_profile_dump *dump)
{
    struct hs_profile *p = typing->profile;
    int r = 0;
    for (uint64_t i = 0; i < dump->blocks_n && r == 0; i++) {
        struct hs_profile_block *block = &p->blocks[dump->block_first + i];
        struct node_type by_stack = { 0 };
        r = find_type(typing, block->node, &by_stack);
        if (r == 0 && !block->is_type_given && has_precedence(p, &by_stack, block->type)) {
            block->type = by_stack.type;
        }
    }
    return r;
}

static int type_dump(struct typing *typing, struct hs_profile_dump *dump)
{
    int r = dump->has_parts ? type_parts(typing, dump) : 0;
    return r == 0 && dump->has_blocks ? type_blocks(typing, dump) : r;
}

/* The names of types that are in the profile already. */
static int list_known(struct typing *typing)
{
    const struct hs_profile *p = typing->profile;
    uint32_t last = 0, id;
    int r = 0;
    for (uint64_t i = 0; i < p->part_count && r == 0; i++) {
        uint32_t type = p->parts[i].type;
        r = type != 0 && type != last ? put_name(typing, hs_profile_string(p, type), type, &id) : 0;
        last = type;
    }
    for (uint64_t i = 0; i < p->block_count && r == 0; i++) {
        uint32_t type = p->blocks[i].type;
        r = type != 0 && type != last ? put_name(typing, hs_profile_string(p, type), type, &id) : 0;
        last = type;
    }
    return r;
}

int hs_frame_types_apply(struct hs_profile *profile)
{
    struct typing typing = { .profile = profile, .string_capacity = profile->string_count };
    typing.of_node = calloc((size_t)profile->node_count + 1, sizeof(typing.of_node[0]));
    int r = typing.of_node ? list_known(&typing) : -ENOMEM;
    for (uint32_t d = 0; d < profile->dump_count && r == 0; d++) {
        struct hs_profile_dump *dump = &profile->dumps[d];
        r = !dump->is_without_types ? type_dump(&typing, dump) : 0;
    }
    hs_intern_deinit(&typing.names.ids);
    free(typing.name_ids);
    free(typing.of_node);
    return r;
}
