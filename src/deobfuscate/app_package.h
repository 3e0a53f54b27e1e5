/*
 * Which Android application a file belongs to, by its path.
 *
 *     /data/app/[~~RANDOM==/]PACKAGE-RANDOM/base.apk     PACKAGE
 *     /system/priv-app/Phonesky/Phonesky.apk             com.android.vending
 *
 * The path may be in the middle of the name, as in the name of code that was extracted from a file:
 * "[anon:dalvik-classes.dex extracted in memory from /data/app/...]".
 *
 * Threads   pure functions.
 */
#pragma once

#include <stddef.h>

enum hs_app_package {
    HS_APP_PACKAGE_NONE,  /* the path says nothing */
    HS_APP_PACKAGE_FOUND, /* the path names a package */
    HS_APP_PACKAGE_BAD,   /* it is that of an application, but has no package where it should */
};

/* Finds the package; *ret_package is *ret_bytes bytes long, without a NUL at its end. */
enum hs_app_package hs_app_package_of(const char *path, const char **ret_package,
                                      size_t *ret_bytes);
