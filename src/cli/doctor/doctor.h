/*
 * The questions that doctor answers: about this machine, about a program, about a process, about a
 * policy.
 *
 * Each function adds its findings: first those that decide whether there is a profile at all, last
 * those that only cost names.
 *
 * Threads   main thread only.
 * Fails     never as a whole: what cannot be found out is a finding, too.
 * See       findings.h, doctor_modules.h
 */
#pragma once

#include <sys/types.h>

#include "cli/doctor/findings.h"

/* Adds findings about this machine: would heapscope work here? */
void hs_doctor_machine(struct hs_findings *findings);

/* Adds findings about a program: would `heapscope run -- PROGRAM` give a good profile? */
void hs_doctor_program(const char *program, struct hs_findings *findings);

/* Adds findings about a process: would `heapscope attach PID` give a good profile, or a session of
 * the daemon? `policy`: the file of that daemon; NULL: the system's. */
void hs_doctor_process(pid_t pid, const char *policy, struct hs_findings *findings);

/* Adds a finding: can the daemon read this policy? NULL: the system's, if there is one. */
void hs_doctor_policy(const char *path, struct hs_findings *findings);

/* Adds a finding: what does this policy say about process `pid`? NULL: the system's policy, if
 * there is one. */
void hs_doctor_policy_of(const char *path, pid_t pid, struct hs_findings *findings);
