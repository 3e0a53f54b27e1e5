"""A profile in which every text attacks the page: markup, scripts, formulas, control characters, right-to-left text, 10,000 characters."""

import itertools

import page_rich

ATTACKS = [
    "<script>window.hostile=1</script>", "<img src=x onerror='window.hostile=1'>", "</script><svg onload=window.hostile=1>",
    "\" onmouseover=\"window.hostile=1\" x=\"", "javascript:window.hostile=1", "\u202eevil\u202c \u2066x", "\x1b[31m\x00\x07\x7f\x9b",
    "=HYPERLINK(\"http://x\")", "&lt;b&gt;&amp;", "${window.hostile=1}", "שלום עולם مرحبا", "<!--heapscope-data-->", "\r\nSet-Cookie: x\u2028y",
    "x" * 10000, "__proto__", "constructor", "%00%3Cscript%3E#&view=nothing", "𝕳\U0001f4a9\u0301\u0301\u0301",
]


def documents():
    attacks = itertools.cycle(ATTACKS)
    # The text itself stands behind, so that two names stay two.
    return page_rich.documents(lambda text: f"{next(attacks)} {text}")


def page(template):
    return page_rich.page(template, documents())
