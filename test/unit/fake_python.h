/* A library that looks like a Python interpreter from outside: see fake_python.c. */
#pragma once

enum fake_python_mode {
    FAKE_PYTHON_PLAIN,
    FAKE_PYTHON_DEBUG,   /* debug hooks stand in front of pymalloc */
    FAKE_PYTHON_TRACED,  /* tracemalloc does */
    FAKE_PYTHON_BOTH,    /* tracemalloc, and then debug hooks */
    FAKE_PYTHON_MALLOC,  /* objects come from malloc */
    FAKE_PYTHON_FOREIGN, /* functions of the program stand there */
};

/* Sets the allocators, as an interpreter does that begins. `foreign_functions`: four of them. */
void fake_python_begin(enum fake_python_mode mode, const void *foreign_functions);
/* Allocates and frees objects by five calls; returns how often pymalloc was called since it began.
 */
unsigned fake_python_calls(void);
/* The function that maps arenas. */
unsigned long fake_python_arena_va(void);
