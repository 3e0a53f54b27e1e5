/*
 * Where CPython's structures have what a walk of its frames needs, by version.
 *
 * Up to Python 3.12 the places are those of the headers, and the same in each build of a minor
 * version. From Python 3.13 on, the interpreter publishes most of them (_Py_DebugOffsets, at the
 * start of _PyRuntime), and these are used. Whether the places are right shows at each walk: the
 * code objects and the texts that it finds must have the types that they should have.
 *
 * Threads   pure functions.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define HS_PYTHON_MINOR_FIRST 8U
#define HS_PYTHON_MINOR_LAST  13U

/* Offsets, in bytes, unless a comment says otherwise. */
struct hs_python_layout {
    uint16_t minor; /* of Python 3 */
    /* PyThreadState */
    uint16_t thread_id;    /* pthread_self() of its thread */
    uint16_t current;      /* the innermost frame, or, if cframe_frame is not NO_CFRAME, */
    uint16_t cframe_frame; /* a structure that has it at this offset */
    /* PyFrameObject, or since 3.11 _PyInterpreterFrame */
    uint16_t frame_bytes; /* of the part that is read */
    uint16_t back;
    uint16_t code;
    uint16_t place;    /* the instruction: up to 3.10 an int32_t, since 3.11 a pointer */
    uint16_t is_entry; /* 3.11: a bool, true: eval's native frame begins with it */
    uint16_t owner;    /* since 3.12: 3 says the same; the frame is no function */
    /* PyCodeObject */
    uint16_t code_bytes; /* of the part that is read */
    uint16_t first_line; /* int32_t */
    uint16_t file;
    uint16_t name;
    uint16_t lines;        /* co_lnotab, co_linetable */
    uint16_t instructions; /* since 3.11: their first */
    /* PyUnicodeObject: where its text is */
    uint16_t ascii_text;
    uint16_t wide_text;
};

#define HS_PYTHON_NO_CFRAME UINT16_MAX

/* In all versions. */
enum {
    HS_PYTHON_OBJECT_TYPE = 8,
    HS_PYTHON_OBJECT_SIZE = 16, /* of bytes */
    HS_PYTHON_BYTES_HASH = 24,
    HS_PYTHON_BYTES_TEXT = 32,
    HS_PYTHON_TEXT_LENGTH = 16, /* of unicode, in characters */
    HS_PYTHON_TEXT_HASH = 24,
    HS_PYTHON_TEXT_STATE = 32,
    HS_PYTHON_TEXT_HEAD = 40, /* bytes that each text has */
};

/* The size of _Py_DebugOffsets up to the last field that is read. */
#define HS_PYTHON_OFFSETS_BYTES 568U

/* Fills *ret_layout for Python 3.`minor`. `offsets`: the first HS_PYTHON_OFFSETS_BYTES of
 * _PyRuntime, from 3.13 on. False: the version is not known, or the offsets make no sense. */
bool hs_python_layout_make(uint32_t minor, const uint8_t *offsets,
                           struct hs_python_layout *ret_layout);
