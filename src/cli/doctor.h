/*
 * The questions that doctor answers: about this machine, about a program, about a process, about a policy.
 *
 * Each adds its findings, from what decides whether there is a profile at all to what only costs names.
 *
 * Threads   main thread only.
 * Fails     never as a whole: what cannot be found out is a finding too.
 * See       findings.h, doctor_modules.h
 */
#pragma once

#include <sys/types.h>

#include "cli/findings.h"

/* Would heapscope work here? */
void hs_doctor_machine(struct hs_findings *findings);

/* Would `heapscope run -- PROGRAM` give a good profile? */
void hs_doctor_program(const char *program, struct hs_findings *findings);

/* Would `heapscope attach PID`, or a session of the daemon? `policy`: that daemon's file; NULL: the system's. */
void hs_doctor_process(pid_t pid, const char *policy, struct hs_findings *findings);

/* Can the daemon read this policy? What does it say of a process? NULL: the system's, if there is one. */
void hs_doctor_policy(const char *path, struct hs_findings *findings);
void hs_doctor_policy_of(const char *path, pid_t pid, struct hs_findings *findings);
