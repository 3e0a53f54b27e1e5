/* pprof.h: the output, unzipped and decoded, equals the input. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include <cmocka.h>

#include "fixture_profile.h"
#include "profile/proto/pprof.pb-c.h"
#include "util/buf.h"
#include "view/pprof.h"

static const struct hs_select_spec last = { .snapshot = HS_SELECT_LAST };

static Hs__Pprof__PprofProfile *export_and_decode(const struct hs_profile *p)
{
    static unsigned char plain[1 << 20];
    struct hs_buf buf = HS_BUF_INIT;
    assert_int_equal(hs_pprof_write(p, &last, &(struct hs_pprof_options){ 0 }, &buf), 0);
    z_stream stream = { .next_in = (unsigned char *)buf.data,
                        .avail_in = (unsigned)buf.bytes,
                        .next_out = plain,
                        .avail_out = sizeof(plain) };
    assert_int_equal(inflateInit2(&stream, 15 + 16), Z_OK);
    assert_int_equal(inflate(&stream, Z_FINISH), Z_STREAM_END);
    assert_int_equal(stream.avail_in, 0);
    inflateEnd(&stream);
    hs_buf_deinit(&buf);
    Hs__Pprof__PprofProfile *profile =
        hs__pprof__pprof_profile__unpack(NULL, stream.total_out, plain);
    assert_non_null(profile);
    assert_string_equal(profile->string_table[0], "");
    return profile;
}

static const char *text(const Hs__Pprof__PprofProfile *p, int64_t id)
{
    assert_true(id >= 0 && (size_t)id < p->n_string_table);
    return p->string_table[id];
}

static const Hs__Pprof__PprofLocation *location(const Hs__Pprof__PprofProfile *p, uint64_t id)
{
    for (size_t i = 0; i < p->n_location; i++) {
        if (p->location[i]->id == id) {
            return p->location[i];
        }
    }
    fail_msg("no location %llu", (unsigned long long)id);
    return NULL;
}

static const char *function_name(const Hs__Pprof__PprofProfile *p, uint64_t id)
{
    for (size_t i = 0; i < p->n_function; i++) {
        if (p->function[i]->id == id) {
            return text(p, p->function[i]->name);
        }
    }
    fail_msg("no function %llu", (unsigned long long)id);
    return NULL;
}

static void says_everything(void **state)
{
    (void)state;
    struct fixture fx = fixture_new();
    const char *inlined[] = { "inner", "outer" };
    fixture_module(&fx, "/usr/lib/libfoo.so", 0x7f0000000000);
    uint32_t main_ = fixture_call(&fx, HS_NODE_NONE, "main");
    uint32_t leaf = fixture_node(&fx, main_, fixture_frame(&fx, inlined, 2));
    fx.module = 0;
    uint32_t bare = fixture_node(&fx, main_, fixture_frame(&fx, NULL, 0));
    fx.p.modules[1].exec_off = 0x2000;
    fixture_process(&fx, 5, "prog");
    fx.p.processes[0].exe = fx.p.modules[0].path;
    fixture_dump(&fx, 3);
    fixture_sample(&fx, leaf, fixture_exact(100.4, 1.6), fixture_exact(1000, 10),
                   fixture_sampled(500, 5, 1e4, 1));
    fixture_sample(&fx, bare, fixture_exact(0, 0), fixture_exact(7, 1), fixture_exact(0, 0));
    fixture_sample(&fx, main_, fixture_exact(0, 0), fixture_exact(0.2, 0), fixture_exact(0, 0));
    fixture_loss(&fx, "lost", "things that were lost", 17);
    fx.p.real_minus_mono_ns = UINT64_C(1700000000000000000);

    Hs__Pprof__PprofProfile *p = export_and_decode(&fx.p);
    const char *const types[] = { "alloc_objects", "alloc_space",  "inuse_objects",
                                  "inuse_space",   "peak_objects", "peak_space" };
    assert_int_equal(p->n_sample_type, 6);
    for (size_t i = 0; i < 6; i++) {
        assert_string_equal(text(p, p->sample_type[i]->type), types[i]);
        assert_string_equal(text(p, p->sample_type[i]->unit), i % 2 ? "bytes" : "count");
    }
    assert_string_equal(text(p, p->default_sample_type), "inuse_space");
    assert_string_equal(text(p, p->period_type->type), "space");
    assert_string_equal(text(p, p->period_type->unit), "bytes");
    assert_int_equal(p->period, 4096);
    assert_int_equal(p->duration_nanos, 3000000000);
    assert_int_equal(p->time_nanos, 1700000001000000000);

    assert_int_equal(p->n_sample, 2); /* the third one rounds to zero */
    const int64_t want[] = { 10, 1000, 2, 100, 5, 500 };
    assert_int_equal(p->sample[0]->n_value, 6);
    for (size_t i = 0; i < 6; i++) {
        assert_int_equal(p->sample[0]->value[i], want[i]);
    }
    assert_int_equal(p->sample[0]->n_label, 0);
    assert_int_equal(p->sample[0]->n_location_id, 2);
    const Hs__Pprof__PprofLocation *at = location(p, p->sample[0]->location_id[0]);
    assert_int_equal(at->n_line, 2);
    assert_string_equal(function_name(p, at->line[0]->function_id), "inner");
    assert_string_equal(function_name(p, at->line[1]->function_id), "outer");
    assert_int_equal(at->line[0]->line, 1);
    assert_int_equal(at->address, 0x7f0000001010);
    at = location(p, p->sample[0]->location_id[1]);
    assert_string_equal(function_name(p, at->line[0]->function_id), "main");
    at = location(p, p->sample[1]->location_id[0]);
    assert_int_equal(at->n_line, 0); /* pprof may find a name by the build id */
    assert_int_equal(at->address, 0x401020);

    assert_int_equal(p->n_mapping, 2);
    assert_string_equal(text(p, p->mapping[0]->filename), "/usr/bin/prog"); /* the program comes
                                                                             * first */
    assert_int_equal(p->mapping[0]->id, at->mapping_id);
    assert_false(p->mapping[0]->has_functions);
    assert_string_equal(text(p, p->mapping[1]->build_id), "0123456789abcdef");
    assert_true(p->mapping[1]->has_functions && p->mapping[1]->has_filenames &&
                p->mapping[1]->has_line_numbers);
    assert_int_equal(p->mapping[1]->memory_start, 0x7f0000000000);
    assert_int_equal(p->mapping[1]->file_offset, 0x2000);

    const char *const comments[] = {
        "heapscope ",
        "pid 5 ",
        "inuse: 100 B",
        "alloc: ",
        "peak: 500 B −177 B +15.4 KiB in 5 −2 +15,737 objects at least: data is missing",
        "LOST (pid 5): things that were lost: 17"
    };
    assert_int_equal(p->n_comment, 6);
    for (size_t i = 0; i < 6; i++) {
        assert_memory_equal(text(p, p->comment[i]), comments[i], strlen(comments[i]));
    }
    hs__pprof__pprof_profile__free_unpacked(p, NULL);
    fixture_deinit(&fx);
}

static void labels_tell_processes_and_heaps_apart(void **state)
{
    (void)state;
    struct fixture fx = fixture_new();
    fx.p.heaps = fixture_grow(fx.p.heaps, fx.p.heap_count, sizeof(*fx.p.heaps));
    fx.p.heaps[fx.p.heap_count++] = fixture_string(&fx, "mmap");
    uint32_t node = fixture_call(&fx, HS_NODE_NONE, "bad\xff\x1bname");
    for (uint32_t pid = 1; pid <= 2; pid++) {
        fixture_process(&fx, pid, "p");
        fixture_dump(&fx, 1)->has_peak = false;
        fixture_sample(&fx, node, fixture_exact(9e30, 1), fixture_exact(9e30, 1),
                       fixture_exact(0, 0));
        fx.p.samples[fx.p.sample_count - 1].heap = pid - 1;
    }
    Hs__Pprof__PprofProfile *p = export_and_decode(&fx.p);
    assert_int_equal(p->n_sample_type, 4);
    assert_int_equal(p->n_sample, 2);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(p->sample[i]->n_value, 4);
        assert_int_equal(p->sample[i]->value[1], INT64_MAX);
        assert_int_equal(p->sample[i]->n_label, 2);
        assert_string_equal(text(p, p->sample[i]->label[0]->key), "pid");
        assert_int_equal(p->sample[i]->label[0]->num, i + 1);
        assert_string_equal(text(p, p->sample[i]->label[1]->key), "heap");
        assert_string_equal(text(p, p->sample[i]->label[1]->str), i ? "mmap" : "libc.malloc");
    }
    assert_int_equal(p->n_location, 1);
    /* The format wants UTF-8. */
    assert_string_equal(function_name(p, p->location[0]->line[0]->function_id),
                        "bad\xEF\xBF\xBD\xEF\xBF\xBDname");
    hs__pprof__pprof_profile__free_unpacked(p, NULL);
    fixture_deinit(&fx);
}

static void whole_numbers_stay(void **state)
{
    (void)state;
    struct fixture fx = fixture_new();
    fixture_process(&fx, 1, "p");
    fixture_dump(&fx, 1)->has_peak = false;
    const double counts[] = { 1.5, 0, 2, 0, 1.5, 7 };
    const int64_t want[] = { 2, 0, 2, 0, 1, 7 };
    for (size_t i = 0; i < 6; i++) {
        char name[] = { (char)('a' + i), '\0' };
        uint32_t node = fixture_call(&fx, HS_NODE_NONE, name);
        fixture_sample(&fx, node, fixture_exact(8 * counts[i], counts[i]), fixture_exact(80, 10),
                       fixture_exact(0, 0));
    }
    Hs__Pprof__PprofProfile *p = export_and_decode(&fx.p);
    assert_int_equal(p->n_sample, 6);
    for (size_t i = 0; i < 6; i++) {
        assert_int_equal(p->sample[i]->value[2], want[i]);
    }
    hs__pprof__pprof_profile__free_unpacked(p, NULL);
    fixture_deinit(&fx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(says_everything),
        cmocka_unit_test(labels_tell_processes_and_heaps_apart),
        cmocka_unit_test(whole_numbers_stay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
