/*
 * The end of a recording: see run_summary.h.
 */
#include "cli/record/run_summary.h"

#include <limits.h>
#include <string.h>

#include "cli/message.h"
#include "cli/record/run_words.h"
#include "util/human.h"
#include "util/shell_word.h"

int hs_run_summary_file(const struct hs_run_summary *present, int r)
{
    char trace_path[PATH_MAX];
    char size[HS_HUMAN_BYTES];
    uint64_t bytes = present->file->bytes;
    if (r == 0 && !present->is_quiet) {
        hs_run_file_path(present->file, trace_path, sizeof(trace_path));
        hs_run_words_summary(trace_path, present->path, present->stack_count);
    }
    if (r == 0) {
        r = hs_run_file_finish(present->file);
    }
    if (r < 0) {
        hs_message("cannot write %s: %s; %s", present->path, strerror(-r), present->lost);
        return r;
    }
    char word[HS_SHELL_WORD_BYTES];
    hs_message_info("wrote %s to %s\nNext: heapscope report %s",
                    hs_human_bytes(size, (double)bytes), present->path,
                    hs_shell_word(present->path, word, sizeof(word)));
    return 0;
}
