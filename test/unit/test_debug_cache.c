/*
 * debug_cache.c: an entry comes back as it was stored, and nothing else comes back.
 *
 * The debug file is this test program itself: any file with a build id will do.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "packed_elf.h"
#include "symbol/debug_cache.h"

static struct hs_elf_file own;
static struct hs_debug_key key;
static char folder[64];
static struct hs_debug_cache cache = HS_DEBUG_CACHE_NONE;

static const uint8_t info[] = "not quite debug information, but it has to be somewhat long to pack "
                              "well, well, well, well, well";

static const char tail[] = "and what was found out";

static int set_up(void **state)
{
    (void)state;
    char path[PATH_MAX];
    ssize_t bytes = readlink("/proc/self/exe", path, sizeof(path) - 1);
    path[bytes > 0 ? bytes : 0] = '\0';
    /* A file that was linked just now is not stored yet. */
    sleep(2);
    strcpy(folder, "/tmp/hs-debug-cache-XXXXXX");
    return hs_elf_file_open(path, &own) == 0 && hs_debug_key_of(&own, &key) == 0 &&
                   mkdtemp(folder) && hs_debug_cache_open(folder, &cache) == 0
               ? 0
               : -1;
}

/* Deletes all files; returns how many there were. */
static int empty_folder(void)
{
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    int count = 0;
    const struct dirent *item;
    while ((item = readdir(dir)) != NULL) {
        count += unlinkat(dirfd(dir), item->d_name, 0) == 0;
    }
    closedir(dir);
    return count;
}

static int tear_down(void **state)
{
    (void)state;
    empty_folder();
    rmdir(folder);
    hs_debug_cache_close(&cache);
    hs_elf_file_close(&own);
    return 0;
}

static void make_image(struct hs_debug_image *ret_image)
{
    struct packed_elf elf;
    struct hs_elf_file file;
    packed_elf_begin(&elf);
    packed_elf_pack(&elf, ".debug_info", info, sizeof(info), sizeof(info));
    packed_elf_end(&elf);
    assert_int_equal(hs_elf_file_open_image(elf.bytes, elf.count, "test", &file), 0);
    assert_int_equal(hs_debug_image_make(&file, ret_image), 0);
    hs_elf_file_close(&file);
}

static int store(void)
{
    struct hs_debug_image image;
    make_image(&image);
    int err = hs_debug_cache_store(&cache, &own, &key, &image, tail, sizeof(tail));
    hs_debug_image_close(&image);
    return err;
}

static int load(const struct hs_debug_key *with)
{
    struct hs_debug_image image;
    int err = hs_debug_cache_load(&cache, with, &image);
    if (err == 0) {
        struct hs_debug_image made;
        make_image(&made);
        assert_int_equal(image.map_bytes, made.map_bytes + sizeof(tail));
        assert_int_equal(image.tail_bytes, sizeof(tail));
        assert_memory_equal(image.tail, tail, sizeof(tail));
        assert_memory_equal(image.map + HS_DEBUG_IMAGE_OFF, made.map + HS_DEBUG_IMAGE_OFF,
                            made.map_bytes - HS_DEBUG_IMAGE_OFF);
        hs_debug_image_close(&made);
        hs_debug_image_close(&image);
    }
    return err;
}

/* Returns the path of the only file. */
static void entry_path(char *ret_path)
{
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    const struct dirent *item;
    ret_path[0] = '\0';
    while ((item = readdir(dir)) != NULL) {
        if (item->d_name[0] != '.') {
            assert_int_equal(ret_path[0], 0);
            snprintf(ret_path, PATH_MAX, "%s/%s", folder, item->d_name);
        }
    }
    closedir(dir);
    assert_int_not_equal(ret_path[0], 0);
}

static void kept_and_found_again(void **state)
{
    (void)state;
    char path[PATH_MAX];
    struct stat st;
    assert_int_equal(load(&key), -ENOENT);
    assert_int_equal(store(), 0);
    assert_int_equal(load(&key), 0);
    assert_int_equal(store(), 0);
    entry_path(path);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    assert_int_equal(empty_folder(), 1);
}

/* A difference in any part of the key makes it another entry, even if the file names are equal. */
static void each_part_of_the_key_counts(void **state)
{
    (void)state;
    char path[PATH_MAX];
    assert_int_equal(store(), 0);
    entry_path(path);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    static uint8_t bytes[65536];
    ssize_t count = read(fd, bytes, sizeof(bytes));
    close(fd);
    assert_true(count > 0 && count < (ssize_t)sizeof(bytes));
    assert_true(hs_debug_entry_is_valid(bytes, (size_t)count, &key));
    for (size_t i = 0; i < sizeof(key); i++) {
        struct hs_debug_key other = key;
        ((uint8_t *)&other)[i] ^= 1;
        assert_int_not_equal(load(&other), 0);
        assert_false(hs_debug_entry_is_valid(bytes, (size_t)count, &other));
    }
    empty_folder();
}

static void broken_entries(void **state)
{
    (void)state;
    char path[PATH_MAX];
    struct stat st;
    assert_int_equal(store(), 0);
    entry_path(path);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    assert_true(fd >= 0 && fstat(fd, &st) == 0);
    for (off_t off = 0; off < st.st_size; off++) {
        uint8_t byte;
        assert_int_equal(pread(fd, &byte, 1, off), 1);
        const uint8_t other = byte ^ 0x04;
        assert_int_equal(pwrite(fd, &other, 1, off), 1);
        assert_int_equal(load(&key), -EBADMSG);
        assert_int_equal(pwrite(fd, &byte, 1, off), 1);
    }
    assert_int_equal(load(&key), 0);
    for (off_t bytes = st.st_size + 1; bytes > 0; bytes -= 37) {
        assert_int_equal(ftruncate(fd, bytes), 0);
        assert_int_equal(load(&key), -EBADMSG);
    }
    assert_int_equal(ftruncate(fd, (off_t)HS_DEBUG_CACHE_ENTRY_MAX_BYTES + 1), 0);
    assert_int_equal(load(&key), -EBADMSG);
    close(fd);
    /* And a damaged entry is replaced. */
    assert_int_equal(store(), 0);
    assert_int_equal(load(&key), 0);
    empty_folder();
}

static void others_may_not_write(void **state)
{
    (void)state;
    char path[PATH_MAX], link[PATH_MAX];
    struct hs_debug_cache other = HS_DEBUG_CACHE_NONE;
    assert_int_equal(store(), 0);
    entry_path(path);
    assert_int_equal(chmod(path, 0620), 0);
    assert_int_equal(load(&key), -EPERM);
    assert_int_equal(chmod(path, 0602), 0);
    assert_int_equal(load(&key), -EPERM);
    assert_int_equal(chmod(path, 0644), 0);
    assert_int_equal(load(&key), 0);
    assert_int_equal(chmod(folder, 0777), 0);
    assert_int_equal(hs_debug_cache_open(folder, &other), -EPERM);
    assert_int_equal(chmod(folder, 0700), 0);
    /* A symlink is refused, wherever it points. */
    snprintf(link, sizeof(link), "/tmp/hs-debug-cache-%d", (int)getpid());
    assert_int_equal(rename(path, link), 0);
    assert_int_equal(symlink(link, path), 0);
    assert_int_equal(load(&key), -ELOOP);
    unlink(link);
    empty_folder();
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(load(&key), -EPERM);
    empty_folder();
}

static void somebody_elses(void **state)
{
    (void)state;
    char path[PATH_MAX];
    struct hs_debug_cache other = HS_DEBUG_CACHE_NONE;
    if (geteuid() != 0) {
        skip(); /* only root can give a file to another user */
    }
    assert_int_equal(store(), 0);
    entry_path(path);
    assert_int_equal(chown(path, 1, 1), 0);
    assert_int_equal(load(&key), -EPERM);
    assert_int_equal(chown(folder, 1, 1), 0);
    assert_int_equal(hs_debug_cache_open(folder, &other), -EPERM);
    assert_int_equal(chown(folder, 0, 0), 0);
    empty_folder();
}

/* A file that changes while it is read, or changed just before, is not stored. */
static void a_file_that_changes(void **state)
{
    (void)state;
    char path[PATH_MAX];
    struct packed_elf elf;
    struct hs_elf_file file;
    struct hs_debug_image image;
    struct hs_debug_key its;
    packed_elf_begin(&elf);
    /* A note with a build id of four bytes. */
    packed_elf_add(&elf, ".note.gnu.build-id", "\4\0\0\0\4\0\0\0\3\0\0\0GNU\0abcd", 20)->sh_type =
        SHT_NOTE;
    packed_elf_end(&elf);
    snprintf(path, sizeof(path), "%s/file", folder);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(write(fd, elf.bytes, elf.count), elf.count);
    free(elf.bytes);
    assert_int_equal(hs_elf_file_open(path, &file), 0);
    assert_int_equal(hs_debug_key_of(&file, &its), 0);
    make_image(&image);
    assert_int_equal(hs_debug_cache_store(&cache, &file, &its, &image, tail, sizeof(tail)),
                     -ESTALE);
    sleep(3);
    assert_int_equal(hs_debug_cache_store(&cache, &file, &its, &image, tail, sizeof(tail)), 0);
    /* Setting its time back does not hide the change. */
    const struct timespec times[] = { { .tv_sec = 1000000000 }, { .tv_sec = 1000000000 } };
    assert_int_equal(futimens(fd, times), 0);
    assert_int_equal(hs_debug_cache_store(&cache, &file, &its, &image, tail, sizeof(tail)),
                     -ESTALE);
    hs_debug_image_close(&image);
    hs_elf_file_close(&file);
    close(fd);
    empty_folder();
}

static void no_build_id(void **state)
{
    (void)state;
    struct hs_debug_key its;
    struct hs_elf_file file = own;
    file.build_id_bytes = 0;
    assert_int_equal(hs_debug_key_of(&file, &its), -ENOENT);
    file.build_id_bytes = HS_DEBUG_KEY_ID_MAX_BYTES + 1;
    assert_int_equal(hs_debug_key_of(&file, &its), -ENOENT);
}

static void put_file(const char *name, size_t bytes, time_t age_s)
{
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    const struct timespec used = { .tv_sec = time(NULL) - age_s };
    const struct timespec times[] = { used, used };
    assert_true(fd >= 0 && ftruncate(fd, (off_t)bytes) == 0 && futimens(fd, times) == 0);
    close(fd);
}

static bool has_file(const char *name)
{
    return faccessat(cache.folder_fd, name, F_OK, 0) == 0;
}

static void the_oldest_go_first(void **state)
{
    (void)state;
    put_file("b.sections", 1000, 300);
    put_file("a.sections", 1000, 200);
    put_file("c.sections", 1000, 100);
    put_file("of somebody", 5000, 100000);
    put_file("new.tmp", 5000, 100);
    put_file("old.tmp", 5000, 100000);
    assert_int_equal(hs_debug_cache_trim(&cache, 3000), 0);
    assert_true(has_file("b.sections"));
    assert_false(has_file("old.tmp"));
    assert_true(has_file("new.tmp"));
    assert_int_equal(hs_debug_cache_trim(&cache, 2999), 0);
    assert_false(has_file("b.sections"));
    assert_true(has_file("a.sections"));
    assert_int_equal(hs_debug_cache_trim(&cache, 0), 0);
    assert_false(has_file("a.sections"));
    assert_false(has_file("c.sections"));
    assert_true(has_file("of somebody"));
    empty_folder();
    /* Storing deletes old entries first. */
    put_file("large.sections", HS_DEBUG_CACHE_MAX_BYTES - 100, 100);
    assert_int_equal(store(), 0);
    assert_false(has_file("large.sections"));
    assert_int_equal(load(&key), 0);
    empty_folder();
}

static void use_is_noted(void **state)
{
    (void)state;
    char path[PATH_MAX];
    struct stat st;
    assert_int_equal(store(), 0);
    entry_path(path);
    const time_t now = time(NULL);
    const time_t ages[] = { 3600, 2 * 86400 };
    for (size_t i = 0; i < 2; i++) {
        const struct timespec used = { .tv_sec = now - ages[i] };
        const struct timespec times[] = { used, used };
        assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
        assert_int_equal(load(&key), 0);
        assert_int_equal(stat(path, &st), 0);
        assert_int_equal(st.st_mtime >= now, i == 1);
    }
    empty_folder();
}

/* Stores and loads at the same time: each load gets a whole entry, or finds none. */
static void many_at_once(void **state)
{
    (void)state;
    pid_t pids[8];
    assert_int_equal(store(), 0);
    for (size_t i = 0; i < 8; i++) {
        pids[i] = fork();
        if (pids[i] == 0) {
            bool is_fine = true;
            for (int k = 0; k < 100; k++) {
                is_fine &= (i % 2 == 0 ? store() : load(&key)) == 0;
            }
            _exit(is_fine ? 0 : 1);
        }
    }
    for (size_t i = 0; i < 8; i++) {
        int status = -1;
        assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
        assert_int_equal(status, 0);
    }
    assert_int_equal(empty_folder(), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kept_and_found_again), cmocka_unit_test(each_part_of_the_key_counts),
        cmocka_unit_test(broken_entries),       cmocka_unit_test(others_may_not_write),
        cmocka_unit_test(somebody_elses),       cmocka_unit_test(a_file_that_changes),
        cmocka_unit_test(no_build_id),          cmocka_unit_test(the_oldest_go_first),
        cmocka_unit_test(use_is_noted),         cmocka_unit_test(many_at_once),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
