/*
 * The frame of a method that HotSpot interprets, on x86-64. The same in all versions that are read;
 * a frame is taken for one only if its method is a method, and its place lies in the method's
 * bytecodes.
 *
 *     rbp + 8   return address
 *     rbp       the caller's rbp
 *     rbp - 8   the caller's sp, before arguments were moved for this call
 *     rbp - 24  the Method
 *     rbp - 64  where it is in its bytecodes, when it last called something
 */
#pragma once

#define HS_INTERPRETED_SENDER_SP_BYTES 8U
#define HS_INTERPRETED_METHOD_BYTES    24U
#define HS_INTERPRETED_BCP_BYTES       64U
