"""Why a stack of stack_witness.c differs from libunwind's. Each reason is a rule that is checked on
the record:

    reach    libunwind gave up in the middle. Behind the last frame with unwind information, it
             adds 16 to sp for each frame without, and follows no frame pointer that is more than
             16 KiB away. Resumed at the frame pointer that it had, it finds the same frames as we.
    no_code  libunwind has a frame whose pc is not in executable memory: the frame has a value in
             the place of its return address. Without that frame, it has the same frames as we.
"""

import bisect
import json


def executable(maps):
    """The executable ranges of /proc/PID/maps, in order."""
    ranges = []
    for line in maps:
        addresses, protection = line.split()[:2]
        if protection[2] == "x":
            ranges.append(tuple(int(number, 16) for number in addresses.split("-")))
    return sorted(ranges)


def is_in(ranges, pc):
    at = bisect.bisect_right(ranges, (pc, float("inf"))) - 1
    return at >= 0 and ranges[at][0] <= pc < ranges[at][1]


def is_same(difference, theirs):
    """Our stack may be cut: then the stated number of frames is missing from `cut_idx` on."""
    ours, cut, skipped = (difference[key] for key in ("ours", "cut_idx", "skipped"))
    if len(theirs) != len(ours) + skipped:
        return False
    return ours == (theirs[:cut] + theirs[cut + skipped:] if cut else theirs)


def explain(difference):
    """Returns 'reach', 'no_code', 'reach no_code', or None."""
    code = executable(difference["maps"])
    if not all(is_in(code, pc) for pc in difference["ours"]):
        return None
    theirs = difference["theirs_resumed"]
    reasons = ["reach"] if difference["resumed"] else []
    if any(not is_in(code, pc) for pc in theirs):
        reasons.append("no_code")
        theirs = [pc for pc in theirs if is_in(code, pc)]
    return " ".join(reasons) if reasons and is_same(difference, theirs) else None


def name(difference, pc):
    for line in difference["maps"]:
        fields = line.split(maxsplit=5)
        start, end = (int(number, 16) for number in fields[0].split("-"))
        if start <= pc < end:
            path = fields[5] if len(fields) > 5 else "[anon]"
            return f"{path.rsplit('/', 1)[-1]}+{pc - start + int(fields[2], 16):#x} {fields[1]}"
    return f"{pc:#x} unmapped"


def describe(difference):
    """Both stacks, beginning a little before the first difference."""
    ours, theirs = difference["ours"], difference["theirs"]
    if difference["cut_idx"]:
        ours = ours[:difference["cut_idx"]] + [None] * difference["skipped"] + ours[difference["cut_idx"]:]
    pairs = zip(ours, theirs)
    first = next((i for i, (our, their) in enumerate(pairs) if our not in (None, their)), min(len(ours), len(theirs)))
    lines = [f"ours {len(ours)} frames, end {difference['end']}; libunwind's {len(theirs)}"]
    for i in range(max(first - 3, 0), first + 4):
        texts = [name(difference, pcs[i]) if i < len(pcs) and pcs[i] else "-" for pcs in (ours, theirs)]
        lines.append(f"  {i}: {texts[0]} | {texts[1]}")
    return "\n".join(lines)


def read(path):
    """Returns ({reason: count}, descriptions of the unexplained differences)."""
    counts, unexplained = {}, []
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            difference = json.loads(line)
            reason = explain(difference)
            if reason:
                counts[reason] = counts.get(reason, 0) + 1
            else:
                unexplained.append(describe(difference))
    return counts, unexplained
