/*
 * Stands in for the template of the page where it was not built: see page.h.
 */
#include "page/page.h"

const char hs_page_template[] = "";
