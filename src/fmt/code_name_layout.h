/*
 * The section CODE_NAMES of a region: the names of frames that are not native code but functions
 * that an interpreter runs. A frame with HS_FRAME_NAMED has the index of its name.
 *
 * See       fmt/region_layout.h, which includes this; docs/FORMAT.md 2.9
 */
#pragma once

#include <stdint.h>

/* The language of a frame with a name of its own. */
enum hs_code_language {
    HS_LANGUAGE_OTHER, /* also each number that a reader does not know */
    HS_LANGUAGE_PYTHON,
    HS_LANGUAGE_JAVA,
    HS_LANGUAGE_JAVASCRIPT,
    HS_LANGUAGE_RUBY,
    HS_LANGUAGE_PHP,
    HS_LANGUAGE_PERL,
    HS_LANGUAGE_N,
};

/* What is known of the Python interpreter in the process. */
enum hs_python_state {
    HS_PYTHON_STATE_NONE,    /* none was found */
    HS_PYTHON_STATE_READ,    /* its frames are read */
    HS_PYTHON_STATE_UNKNOWN, /* its version is not known, or it hides what is needed */
    HS_PYTHON_STATE_REFUSED, /* its frames are not as this version has them: none is shown */
};

/* What is known of an interpreter of another language. */
enum hs_script_state {
    HS_SCRIPT_STATE_NONE,    /* none was found, or it has run nothing */
    HS_SCRIPT_STATE_READ,    /* its frames are read */
    HS_SCRIPT_STATE_UNKNOWN, /* its version is not known, or it hides what is needed */
    HS_SCRIPT_STATE_REFUSED, /* its structures are not as expected: no frame is shown */
};

/* The longest texts of a frame with a name of its own, with the NUL. */
#define HS_CODE_FUNCTION_BYTES 512U
#define HS_CODE_FILE_BYTES     4096U
/* Elements of CODE_NAMES, at most. */
#define HS_CODE_NAMES_MAX (1U << 20)

/* The function, file and line of a frame that is not native code. Entry 0 is unused. */
struct hs_code_name_v2 {
    uint64_t hash;         /* of the other fields; 0 until the entry is whole */
    uint32_t function_off; /* in BYTES, UTF-8, NUL-terminated */
    uint32_t file_off;     /* the same; 0: unknown */
    uint32_t line;         /* that the frame runs; 0: unknown */
    uint32_t first_line;   /* of the function; 0: unknown */
    uint32_t language;     /* enum hs_code_language */
    uint32_t reserved;
};

_Static_assert(sizeof(struct hs_code_name_v2) == 32, "layout v2");
