/*
 * Saves what a view shows as a file: SVG, PNG, CSV, JSON. The browser makes the file from memory;
 * nothing is sent anywhere.
 *
 * Ensures   no field of a CSV file is a formula for a spreadsheet: a name that begins like one gets
 *           an apostrophe in front (numbers do not).
 */
export type Cell = string | number | null;

/* A file name without characters that a file system refuses. */
export function fileName(...parts: string[]): string {
  const name = parts.join(".").replace(/[^\p{L}\p{N}._-]+/gu, "_");
  return name.slice(-120).replace(/^[._]+/, "") || "heapscope";
}

function csvField(cell: Cell): string {
  if (cell === null) return "";
  if (typeof cell === "number") return String(cell);
  const text = /^[=+\-@\t\r]/.test(cell) ? `'${cell}` : cell;
  return /[",\r\n]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
}

/* A table as RFC 4180 has it. An unknown value (null) is an empty field. */
export function toCsv(columns: readonly string[], rows: Iterable<readonly Cell[]>): string {
  const lines = [columns.map(csvField).join(",")];
  for (const row of rows) lines.push(row.map(csvField).join(","));
  return lines.join("\r\n") + "\r\n";
}

export function saveBlob(name: string, blob: Blob): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

export function saveText(name: string, type: string, text: string): void {
  saveBlob(name, new Blob([text], { type: `${type};charset=utf-8` }));
}

export function saveCsv(
  name: string,
  columns: readonly string[],
  rows: Iterable<readonly Cell[]>,
): void {
  saveText(`${name}.csv`, "text/csv", toCsv(columns, rows));
}

export function saveJson(name: string, value: unknown): void {
  saveText(`${name}.json`, "application/json", JSON.stringify(value, null, 1) + "\n");
}

/* Properties that decide how an element of a picture looks. */
const DRAWN = [
  "fill",
  "fill-opacity",
  "stroke",
  "stroke-width",
  "stroke-dasharray",
  "opacity",
  "font-family",
  "font-size",
  "font-weight",
  "text-anchor",
  "dominant-baseline",
  "visibility",
  "display",
];

/* The picture as a document of its own: the page's style is written into each element. */
export function svgText(svg: SVGSVGElement): string {
  const copy = svg.cloneNode(true) as SVGSVGElement;
  const from = [svg, ...svg.querySelectorAll("*")];
  const to = [copy, ...copy.querySelectorAll("*")];
  to.forEach((element, i) => {
    const style = getComputedStyle(from[i] as Element);
    for (const property of DRAWN) {
      const value = style.getPropertyValue(property);
      if (value) element.setAttribute(property, value);
    }
    element.removeAttribute("class");
  });
  const box = svg.getBoundingClientRect();
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.setAttribute("width", String(Math.ceil(box.width)));
  copy.setAttribute("height", String(Math.ceil(box.height)));
  return new XMLSerializer().serializeToString(copy);
}

export function saveSvg(name: string, svg: SVGSVGElement): void {
  saveText(`${name}.svg`, "image/svg+xml", svgText(svg));
}

/* The canvas as it is drawn, on the page's background. */
export function saveCanvas(name: string, canvas: HTMLCanvasElement): void {
  const copy = document.createElement("canvas");
  copy.width = canvas.width;
  copy.height = canvas.height;
  const context = copy.getContext("2d");
  if (!context) return;
  context.fillStyle = getComputedStyle(document.body).backgroundColor;
  context.fillRect(0, 0, copy.width, copy.height);
  context.drawImage(canvas, 0, 0);
  copy.toBlob((blob) => blob && saveBlob(`${name}.png`, blob), "image/png");
}

/* The picture as PNG, twice as large as on the screen. */
export async function savePng(name: string, svg: SVGSVGElement): Promise<void> {
  const image = new Image();
  const url = URL.createObjectURL(new Blob([svgText(svg)], { type: "image/svg+xml" }));
  try {
    await new Promise<void>((resolve, reject) => {
      image.onload = () => resolve();
      image.onerror = () => reject(new Error("the browser cannot draw this picture"));
      image.src = url;
    });
    const canvas = document.createElement("canvas");
    canvas.width = image.width * 2;
    canvas.height = image.height * 2;
    canvas.getContext("2d")?.scale(2, 2);
    canvas.getContext("2d")?.drawImage(image, 0, 0);
    saveCanvas(name, canvas);
  } finally {
    URL.revokeObjectURL(url);
  }
}
