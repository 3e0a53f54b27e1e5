/*
 * Human-readable numbers, spelled as in the text report: "12.3 MiB", "4,096", "1.23 M",
 * "3 min 20 s", "29.2 %".
 *
 * Three significant digits are as many as a reader takes in at once. Sizes are powers of 1024. A
 * figure that the file does not have is null, and its text is "not recorded".
 *
 * See src/util/human.h, which the text report uses.
 */
export const NOT_RECORDED = "not recorded";
const MINUS = "−";
const BYTE_UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
const COUNT_UNITS = ["M", "G", "T", "P"];

/* How many decimals make three significant digits below a thousand: 1.23, 12.3, 123. */
function decimals(value: number): number {
  const magnitude = Math.abs(value);
  return magnitude < 9.995 ? 2 : magnitude < 99.95 ? 1 : 0;
}

function isKnown(value: number | null | undefined): value is number {
  return typeof value === "number" && Number.isFinite(value);
}

/* A size is rounded before its unit is chosen: 1023.99 KiB is 1.00 MiB. */
export function bytes(size: number | null | undefined): string {
  if (!isKnown(size)) return NOT_RECORDED;
  let unit = 0;
  let value = Math.abs(size);
  while (unit + 1 < BYTE_UNITS.length && value >= (unit === 0 ? 1023.5 : 999.5)) {
    value /= 1024;
    unit++;
  }
  const sign = size < 0 ? MINUS : "";
  return `${sign}${value.toFixed(unit === 0 ? 0 : decimals(value))} ${BYTE_UNITS[unit]}`;
}

/* A count with all digits, in groups of three. */
export function exact(count: number | null | undefined): string {
  if (!isKnown(count)) return NOT_RECORDED;
  const digits = String(Math.abs(Math.round(count)));
  return (count < 0 ? MINUS : "") + digits.replace(/\B(?=(\d{3})+$)/g, ",");
}

/* A count: digits in groups of three below a million, "1.23 M" from there on. */
export function count(value: number | null | undefined): string {
  if (!isKnown(value)) return NOT_RECORDED;
  let magnitude = Math.abs(value);
  if (magnitude < 999999.5) return exact(value);
  let unit = 0;
  magnitude /= 1e6;
  while (unit + 1 < COUNT_UNITS.length && magnitude >= 999.5) {
    magnitude /= 1000;
    unit++;
  }
  return `${value < 0 ? MINUS : ""}${magnitude.toFixed(decimals(magnitude))} ${COUNT_UNITS[unit]}`;
}

/* The percentage part / whole. A part that is not 0 but would round to 0 is "<0.1 %". */
export function share(part: number | null | undefined, whole: number | null | undefined): string {
  if (!isKnown(part) || !isKnown(whole)) return NOT_RECORDED;
  if (whole <= 0) return "-";
  const percent = (100 * Math.abs(part)) / whole;
  const sign = part < 0 ? MINUS : "";
  return percent > 0 && percent < 0.05 ? `${sign}<0.1 %` : `${sign}${percent.toFixed(1)} %`;
}

/* How sure it is: "97.5 %", "more than 99.9 %", but never "100.0 %", which would be a promise. */
export function confidence(value: number, above = "more than "): string {
  const percent = (100 * value).toFixed(1);
  return percent === "100.0" ? `${above}99.9 %` : `${percent} %`;
}

/* "3 min 20 s": the whole units, and what is left in the unit below. */
function twoParts(whole: number, unitSeconds: number, names: [string, string]): string {
  const [unit, unitBelow] = names;
  const below =
    unitSeconds === 60
      ? whole % 60
      : Math.floor((whole % unitSeconds) / (unitSeconds === 3600 ? 60 : 3600));
  const rest = String(below).padStart(2, "0");
  return `${Math.floor(whole / unitSeconds)} ${unit} ${rest} ${unitBelow}`;
}

/* A duration, in the unit that fits it: "1.23 ms", "12.3 s", "3 min 20 s", "2 d 05 h". */
export function duration(seconds: number | null | undefined): string {
  if (!isKnown(seconds)) return NOT_RECORDED;
  if (seconds === 0) return "0 s";
  if (seconds < 0) return MINUS + duration(-seconds);
  if (seconds < 0.0009995) return `${(seconds * 1e6).toFixed(decimals(seconds * 1e6))} µs`;
  if (seconds < 0.9995) return `${(seconds * 1e3).toFixed(decimals(seconds * 1e3))} ms`;
  if (seconds < 59.95) return `${seconds.toFixed(decimals(seconds))} s`;
  const whole = Math.floor(seconds + 0.5);
  if (whole < 3600) return twoParts(whole, 60, ["min", "s"]);
  if (whole < 86400) return twoParts(whole, 3600, ["h", "min"]);
  return twoParts(whole, 86400, ["d", "h"]);
}

/* A change, with its sign: "+1.20 MiB", "−3", "0 B". */
export function signed(
  value: number | null | undefined,
  format: (value: number) => string,
): string {
  if (!isKnown(value)) return NOT_RECORDED;
  return value > 0 ? `+${format(value)}` : format(value);
}

/* A moment of the wall clock, in the reader's time zone. */
export function moment(unixSeconds: number | null | undefined): string {
  if (!isKnown(unixSeconds)) return NOT_RECORDED;
  const date = new Date(unixSeconds * 1000);
  const two = (n: number) => String(n).padStart(2, "0");
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
}

/*
 * A margin as a share of its figure. Above the figure itself a percentage tells nothing more.
 */
export function marginShare(width: number, value: number): string {
  return width > Math.abs(value) ? "more than the figure itself" : share(width, value);
}

export interface RateUnit {
  seconds: number;
  words: string;
  sign: string;
}

/* The unit of rates of what was recorded for so long, as src/util/rate_unit.h chooses it. */
export function rateUnit(recordedSeconds: number): RateUnit {
  if (recordedSeconds >= 3600) return { seconds: 3600, words: "an hour", sign: "/h" };
  if (recordedSeconds >= 60) return { seconds: 60, words: "a minute", sign: "/min" };
  return { seconds: 1, words: "a second", sign: "/s" };
}

/* If the two sides of a margin differ by more than this factor, both are shown. */
const SIDES_ALIKE = 1.22;

/*
 * The margin of a figure, from the ends of its interval: "± 1.20 MiB", "−3.69 +2.29 MiB", "+2.29
 * MiB", or "" where it is exact.
 */
export function margin(
  value: number,
  low: number | undefined,
  high: number | undefined,
  format: (value: number) => string,
): string {
  if (low === undefined || high === undefined) return "";
  const below = value - low;
  const above = high - value;
  if (!(below > 0)) return above > 0 ? `+${format(above)}` : "";
  const [belowText, aboveText] = [format(below), format(above)];
  const isAlike = below <= SIDES_ALIKE * above && above <= SIDES_ALIKE * below;
  if (isAlike || belowText === aboveText) return `± ${above > below ? aboveText : belowText}`;
  const [number, unit] = belowText.split(" ");
  const isSameUnit = unit !== undefined && aboveText.endsWith(` ${unit}`);
  return `${MINUS}${isSameUnit ? number : belowText} +${aboveText}`;
}

/* "1 block", "2 blocks". */
export function plural(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${Math.round(value) === 1 ? one : many}`;
}

/* A sentence whose numbers stay in one line with their units. */
export function keepUnits(text: string): string {
  return text.replace(/(\d) (?=(%|B|[KMGTPE]iB|[MGTP]|s|ms|µs|us|min|h|d)\b|%)/g, "$1\u00a0");
}

/* At most `columns` characters of a text, with its end replaced by "…". */
export function cut(text: string, columns: number): string {
  return text.length <= columns ? text : `${text.slice(0, Math.max(0, columns - 1))}…`;
}
