/*
 * Packages of Android applications by their paths. See app_package.h.
 */
#include "deobfuscate/app_package.h"

#include <string.h>

/* Applications of the system are in folders that are not named after their package. */
static enum hs_app_package find_system_app(const char *path, const char **ret_package,
                                           size_t *ret_bytes)
{
    static const char *const apps[][2] = {
        { "/DevicePersonalizationPrebuilt", "com.google.android.as" },
        { "/LatinIMEGooglePrebuilt/", "com.google.android.inputmethod.latin" },
        { "/Maps/", "com.google.android.apps.maps" },
        { "/MatchMaker", "com.google.android.as" },
        { "/NexusLauncherRelease/", "com.google.android.apps.nexuslauncher" },
        { "/Phonesky/", "com.android.vending" },
        { "/Photos/", "com.google.android.apps.photos" },
        { "/PrebuiltBugle/", "com.google.android.apps.messaging" },
        { "/PrebuiltGmail/", "com.google.android.gm" },
        { "/PrebuiltGmsCore/", "com.google.android.gms" },
        { "/SystemUI/", "com.android.systemui" },
        { "/SystemUIGoogle/", "com.android.systemui" },
        { "/Velvet/", "com.google.android.googlequicksearchbox" },
        { "/WellbeingPrebuilt/", "com.google.android.apps.wellbeing" },
    };
    static const char *const parents[] = { "/app", "/priv-app" };
    for (size_t i = 0; i < sizeof(parents) / sizeof(parents[0]); i++) {
        const char *at = strstr(path, parents[i]);
        const char *folder = at ? at + strlen(parents[i]) : "";
        for (size_t k = 0; k < sizeof(apps) / sizeof(apps[0]); k++) {
            if (strncmp(folder, apps[k][0], strlen(apps[k][0])) == 0) {
                *ret_package = apps[k][1];
                *ret_bytes = strlen(apps[k][1]);
                return HS_APP_PACKAGE_FOUND;
            }
        }
    }
    return HS_APP_PACKAGE_NONE;
}

enum hs_app_package hs_app_package_of(const char *path, const char **ret_package, size_t *ret_bytes)
{
    static const char folder[] = "/data/app/";
    const char *at = strstr(path, folder);
    if (!at) {
        return find_system_app(path, ret_package, ret_bytes);
    }
    at += sizeof(folder) - 1;
    if (at[0] == '~' && at[1] == '~') {
        const char *slash = strchr(at, '/');
        at = slash ? slash + 1 : "";
    }
    size_t bytes = strcspn(at, "-/");
    if (at[bytes] != '-' || bytes == 0) {
        return HS_APP_PACKAGE_BAD;
    }
    *ret_package = at;
    *ret_bytes = bytes;
    return HS_APP_PACKAGE_FOUND;
}
