/*
 * Why a module has no unwind information: as the collector finds out, and as files have it.
 *
 * The numbers are those in files (HsCut): never change one, append new ones.
 */
#pragma once

/* Why stacks end in a module. */
enum hs_unwind_reason {
    HS_UNWIND_REASON_NONE,        /* nothing is missing, or it is not known */
    HS_UNWIND_REASON_ABSENT,      /* neither it nor a debug file has any */
    HS_UNWIND_REASON_OTHER_BUILD, /* a debug file was found, but it is that of another build */
    HS_UNWIND_REASON_TOO_LARGE,   /* larger than what is read, or than the room in the region */
    HS_UNWIND_REASON_UNREADABLE,  /* its file is gone, is another one now, or may not be read */
    HS_UNWIND_REASON_BROKEN,      /* what a file has makes no sense */
    HS_UNWIND_REASON_SLOW,        /* reading the files took too long, or could not be begun */
    HS_UNWIND_REASON_LATE,        /* there is a table now; these stacks are from before, mostly */
    HS_UNWIND_REASON_JIT,         /* code that was generated at run time, which has no file */
    HS_UNWIND_REASON_N,
};
