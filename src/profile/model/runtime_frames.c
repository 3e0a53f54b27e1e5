/*
 * See runtime_frames.h.
 */
#include "profile/model/runtime_frames.h"

#include <fnmatch.h>
#include <stddef.h>
#include <string.h>

#include "rt/base.h"
#include "rt/text.h"

#define MODULES_MAX 13
#define FILES_MAX   5

/* Shell patterns; each list ends with NULL. */
static const struct {
    const char *language;
    const char *modules[MODULES_MAX]; /* file names of what runs it */
    const char *names[FILES_MAX];     /* of the standard library: functions, */
    const char *files[FILES_MAX];     /* their source files, */
    const char *others[FILES_MAX];    /* except these */
    const char *evaluated; /* functions without a source file are its own, except this; NULL: no */
} languages[] = {
    { .language = "[java]",
      .modules = { "libjvm.so", "libjava.so", "libjli.so", "libjimage.so", "libzip.so", "libnio.so",
                   "libnet.so", "libverify.so", "libinstrument.so", "libmanagement*.so",
                   "libawt*.so", "libfontmanager.so", "java" },
      .names = { "java.*", "javax.*", "jdk.*", "sun.*" } },
    { .language = "[javascript]",
      .modules = { "node", "nodejs", "libnode.so*" },
      .files = { "node:*" },
      .evaluated = "eval" },
    { .language = "[perl]",
      .modules = { "perl", "perl5*", "libperl.so*" },
      .files = { "*/perl/5*", "*/perl-base/*" } },
    { .language = "[php]",
      .modules = { "php", "php7*", "php8*", "php-fpm*", "php-cgi*", "libphp*.so*" },
      .evaluated = "" },
    { .language = "[python]",
      .modules = { "python", "python2*", "python3*", "libpython2*", "libpython3*" },
      .files = { "*/lib/python[23]*", "<frozen *" },
      .others = { "*/site-packages/*", "*/dist-packages/*" } },
    { .language = "[ruby]",
      .modules = { "ruby", "ruby2*", "ruby3*", "libruby*" },
      .files = { "*/lib/ruby/*", "<internal:*" },
      .others = { "*/gems/*" },
      .evaluated = "" },
};

static bool matches(const char *text, const char *const *patterns, size_t max)
{
    for (size_t i = 0; i < max && patterns[i]; i++) {
        if (fnmatch(patterns[i], text, 0) == 0) {
            return true;
        }
    }
    return false;
}

/* Its index in languages; HS_COUNT_OF(languages): it is none of them. */
static size_t find(const char *language)
{
    const char *name = hs_text_base_name(language);
    size_t i = 0;
    while (i < HS_COUNT_OF(languages) && strcmp(languages[i].language, name) != 0) {
        i++;
    }
    return i;
}

bool hs_frame_is_of_runtime(const char *language, const char *module_path)
{
    size_t i = find(language);
    return i < HS_COUNT_OF(languages) &&
           matches(hs_text_base_name(module_path), languages[i].modules, MODULES_MAX);
}

bool hs_frame_is_of_script_library(const char *language, const char *name, const char *file)
{
    size_t i = find(language);
    if (i == HS_COUNT_OF(languages)) {
        return false;
    }
    if (file[0] == '\0' && languages[i].evaluated) {
        return strcmp(name, languages[i].evaluated) != 0;
    }
    return matches(name, languages[i].names, FILES_MAX) ||
           (matches(file, languages[i].files, FILES_MAX) &&
            !matches(file, languages[i].others, FILES_MAX));
}
