/*
 * The interactive part of a flame graph: zoom, search, details, and a layout that follows the width of
 * the window.
 *
 * The picture is complete without this script. Each box is a <g> with <title>, <rect> and, where there
 * is room, <text>; data-v holds "start total depth"; start and total are in the unit of the
 * view. Zoom and search are part of the address (#z=12&s=load), so that the Back button, a reload and a
 * shared link restore them. The page loads nothing over the network.
 */
(function () {
  "use strict";
  const svg = document.documentElement;
  const byId = (id) => document.getElementById(id);
  const boxesGroup = byId("boxes");
  const head = byId("head");
  const details = byId("details");
  const detailsRest = details.textContent;
  const search = byId("search");
  const SIDE = Number(svg.dataset.side);
  const CHAR = Number(svg.dataset.char);
  const GAP = 0.6;

  const boxes = Array.from(boxesGroup.children, function (g, index) {
    const [start, total, depth] = g.dataset.v.split(" ").map(Number);
    const text = g.querySelector("title").textContent;
    return {
      g, index, start, total, depth,
      text,
      name: text.split("\n", 1)[0],
      parent: null,
      last: index, /* index of the last box below this one; they all follow it directly (preorder) */
      rect: g.querySelector("rect"),
      label: g.querySelector("text"),
      shorter: null,
    };
  });
  const boxOfGroup = new Map(boxes.map((box) => [box.g, box]));
  const open = [];
  for (const box of boxes) {
    while (open.length > box.depth) { open.pop(); }
    box.parent = open.length > 0 ? open[open.length - 1] : null;
    open.push(box);
    for (let up = box.parent; up; up = up.parent) { up.last = box.index; }
  }
  const root = boxes[0];
  let zoomed = root;
  let pattern = "";

  /* Shorter forms of a name, in the order in which the report tries them: without arguments, without
   * template arguments, without outer scopes. */
  function withoutGroups(name, open, close, put) {
    let out = "";
    let depth = 0;
    for (let i = 0; i < name.length; i++) {
      const c = name[i];
      const isOperator = /operator\s*[<>=\-(]*$/.test(name.slice(Math.max(0, i - 12), i));
      if (c === open && !isOperator && !name.startsWith("(anonymous namespace)", i)) {
        if (depth++ === 0) { out += put; }
      } else if (c === close && depth > 0) {
        depth--;
      } else if (depth === 0) {
        out += c;
      }
    }
    return out;
  }

  function shorterNames(box) {
    if (!box.shorter) {
      const plain = box.name.replace(/  \[[^\]]*\]$/, "");
      const bare = withoutGroups(plain, "(", ")", "(…)");
      const noTypes = bare[0] === "<" ? bare : withoutGroups(bare, "<", ">", "<…>");
      box.shorter = [plain, bare, noTypes, withoutGroups(noTypes, "(", ")", "").replace(/<…>/g, "")];
    }
    return box.shorter;
  }

  function fit(box, columns) {
    if (columns < 3) { return ""; }
    const names = shorterNames(box);
    for (const name of names) {
      if (name.length <= columns) { return name; }
    }
    /* The end of "module+0xaddress" identifies it. */
    if (/\+0x[0-9a-f]+$/.test(box.name)) { return "…" + box.name.slice(1 - columns); }
    /* Keeps as many of the last components as fit; if not even one fits, keeps its beginning. */
    const parts = names[names.length - 1].split("::");
    for (let from = 1; from < parts.length; from++) {
      const end = "…" + parts.slice(from).join("::");
      if (end.length <= columns) { return end; }
    }
    const last = parts[parts.length - 1];
    return last.length <= columns ? last : last.slice(0, columns - 1) + "…";
  }

  function place(box, x, width) {
    if (width < 0.4) {
      box.g.classList.add("hidden");
      return;
    }
    box.g.classList.remove("hidden");
    box.rect.setAttribute("x", x.toFixed(2));
    box.rect.setAttribute("width", Math.max(0.3, width - GAP).toFixed(2));
    const text = fit(box, Math.floor((width - 6) / CHAR));
    if (text && !box.label) {
      box.label = document.createElementNS("http://www.w3.org/2000/svg", "text");
      box.label.setAttribute("y", Number(box.rect.getAttribute("y")) + 12.5);
      box.g.appendChild(box.label);
    }
    if (box.label) {
      box.label.textContent = text;
      box.label.setAttribute("x", (x + 3).toFixed(2));
    }
  }

  function layout() {
    const width = Math.max(320, document.documentElement.clientWidth || window.innerWidth);
    const inner = width - 2 * SIDE;
    const scale = zoomed.total > 0 ? inner / zoomed.total : 0;
    svg.setAttribute("width", width);
    const outer = new Set();
    for (let up = zoomed.parent; up; up = up.parent) { outer.add(up); }
    for (const box of boxes) {
      const isOuter = outer.has(box);
      box.g.classList.toggle("outer", isOuter);
      if (isOuter) {
        place(box, SIDE, inner);
      } else if (box.index >= zoomed.index && box.index <= zoomed.last) {
        place(box, SIDE + (box.start - zoomed.start) * scale, box.total * scale);
      } else {
        box.g.classList.add("hidden");
      }
    }
    byId("reset").classList.toggle("hidden", zoomed === root);
    byId("reset").setAttribute("x", width - SIDE);
    byId("searchbox").setAttribute("x", width - SIDE - 240);
    byId("found").setAttribute("x", width - SIDE - 250);
    byId("page").setAttribute("width", width);
    byId("headback").setAttribute("width", width);
    follow();
  }

  /* The head stays in sight while a deep graph is scrolled. */
  function follow() {
    head.setAttribute("transform", "translate(0," + Math.max(0, window.scrollY) + ")");
  }

  function percent(part, whole) {
    return whole > 0 ? (100 * part / whole).toFixed(1) + " %" : "-";
  }

  function find() {
    let test = null;
    search.classList.remove("bad");
    if (pattern) {
      try {
        const regex = new RegExp(pattern, "i");
        test = (name) => regex.test(name);
      } catch (error) {
        /* Not a regular expression (yet): take it as it is. C++ names are full of brackets. */
        const plain = pattern.toLowerCase();
        test = (name) => name.toLowerCase().includes(plain);
      }
      if (!boxes.some((box) => test(box.name))) {
        const plain = pattern.toLowerCase();
        test = (name) => name.toLowerCase().includes(plain);
      }
    }
    let sum = 0;
    let count = 0;
    let counted = -1; /* index of the last box below the one that was counted last */
    for (const box of boxes) {
      const isFound = test !== null && box !== root && test(box.name);
      box.g.classList.toggle("found", isFound);
      if (!isFound) { continue; }
      count++;
      if (box.index > counted && box.last >= zoomed.index && box.index <= zoomed.last) {
        /* A caller of the zoomed box contains all of it, and counts only with the zoomed part. */
        sum += Math.min(box.total, zoomed.total);
        counted = box.last;
      }
    }
    const found = byId("found");
    if (!pattern) {
      found.textContent = "";
    } else if (count === 0) {
      found.textContent = "nothing found";
      search.classList.add("bad");
    } else {
      found.textContent = percent(sum, zoomed.total) + (zoomed === root ? " matches" : " of the zoomed part matches");
    }
  }

  function readAddress() {
    const parts = new URLSearchParams(location.hash.slice(1));
    zoomed = boxes[Number(parts.get("z"))] || root;
    pattern = parts.get("s") || "";
    if (search.value !== pattern) { search.value = pattern; }
    layout();
    find();
    reveal();
  }

  /* Scrolls to the zoomed box: one that was clicked is visible, but one from a link may not be. */
  function reveal() {
    const top = Number(zoomed.rect.getAttribute("y"));
    const headHeight = Number(byId("headback").getAttribute("height"));
    if (top < window.scrollY + headHeight || top > window.scrollY + window.innerHeight - 60) {
      window.scrollTo(0, Math.max(0, top - headHeight - 70));
    }
  }

  function address(box, text) {
    const parts = new URLSearchParams();
    if (box !== root) { parts.set("z", box.index); }
    if (text) { parts.set("s", text); }
    return "#" + parts.toString();
  }

  function zoom(box) {
    if (box !== zoomed) {
      location.hash = address(box, pattern); /* a step in the history; readAddress() follows */
    }
  }

  function boxOf(target) {
    const g = target.closest ? target.closest("#boxes > g") : null;
    return g ? boxOfGroup.get(g) : null;
  }

  function show(box) {
    if (!box) {
      details.textContent = detailsRest;
      return;
    }
    const lines = box.text.split("\n");
    const inner = zoomed !== root && box.total <= zoomed.total ?
      ", " + percent(box.total, zoomed.total) + " of the zoomed part" : "";
    const room = Math.floor((svg.clientWidth - 2 * SIDE) / 6.6);
    const figures = lines.slice(1).join("; ") + inner;
    const nameRoom = Math.max(20, room - figures.length - 3);
    details.textContent = figures + " · " +
      (lines[0].length > nameRoom ? lines[0].slice(0, nameRoom - 1) + "…" : lines[0]);
  }

  boxesGroup.addEventListener("click", (event) => { const b = boxOf(event.target); if (b) { zoom(b); } });
  boxesGroup.addEventListener("mouseover", (event) => show(boxOf(event.target)));
  boxesGroup.addEventListener("mouseleave", () => show(null));
  byId("reset").addEventListener("click", () => zoom(root));
  search.addEventListener("input", function () {
    pattern = search.value;
    try {
      history.replaceState(null, "", address(zoomed, pattern));
    } catch (error) {
      /* Some browsers do not let a local file change its address: it then lacks the search. */
    }
    find();
  });
  window.addEventListener("keydown", function (event) {
    const isTyping = document.activeElement === search;
    if ((event.ctrlKey || event.metaKey) && event.key === "f" && !isTyping) {
      event.preventDefault(); /* a second Ctrl+F opens the browser's own search */
      search.focus();
      search.select();
    } else if (event.key === "/" && !isTyping) {
      event.preventDefault();
      search.focus();
    } else if (event.key === "Escape") {
      if (pattern) {
        search.value = "";
        search.dispatchEvent(new Event("input"));
      } else {
        zoom(root);
      }
      search.blur();
    }
  });
  window.addEventListener("hashchange", readAddress);
  window.addEventListener("resize", layout);
  window.addEventListener("scroll", follow);

  svg.removeAttribute("viewBox");
  byId("searchbox").classList.remove("hidden");
  readAddress();
})();
