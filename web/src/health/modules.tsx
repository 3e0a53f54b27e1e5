/*
 * Modules without names of functions, and modules in which stacks end that should go on: for each
 * the reason, and what helps.
 */
import { NameText } from "../controls/name_text.tsx";
import type { CutModule, NamelessModule, ReportParts } from "../data/report_parts.ts";
import { bytes, count, plural } from "../format.ts";
import { noCutText } from "./known.ts";

/* By reason: what gives the functions names. The reasons are those of heapscope-report(1). */
const REMEDIES: Readonly<Record<string, string>> = {
  absent: "“heapscope symbolize” adds the names on a machine that has the file.",
  other_build: "“heapscope symbolize” adds the names where the same build of the file is.",
  no_symbols:
    "Install its debug symbols, or set DEBUGINFOD_URLS; then “heapscope symbolize” adds the names.",
  unreadable: "Make the file readable; then “heapscope symbolize” adds the names.",
  no_perf_map: "Start the runtime so that it writes a perf map.",
  unsafe_perf_map: "Let the perf map belong to the user of the process.",
  broken: "Use a file that is not damaged; then “heapscope symbolize” adds the names.",
  too_slow: "“heapscope symbolize” takes the time to look the names up.",
  interrupted: "“heapscope symbolize” looks the names up again.",
  no_server: "Check DEBUGINFOD_URLS; then “heapscope symbolize” adds the names.",
};

function Nameless({ module }: { module: NamelessModule }) {
  return (
    <tr>
      <td>
        <NameText text={module.module.replace(/^.*\//, "")} whole={module.module} />
        {module.build_id && <small class="muted">Build ID {module.build_id.slice(0, 80)}</small>}
      </td>
      <td class="number" data-title="Without a name">
        {count(module.nameless_count)}
        <small class="muted">of {plural(module.address_count, "address", "addresses")}</small>
      </td>
      <td data-title="Why, and what helps">
        <bdi>{module.text}</bdi>
        <small class="muted">{REMEDIES[module.reason]}</small>
      </td>
    </tr>
  );
}

export function NamelessModules({ names }: { names: ReportParts["missing_names"] | null }) {
  return (
    <section class="health-card health-wide">
      <h2>Functions without names</h2>
      {!names && <p>Whether names are missing was not recorded.</p>}
      {names?.modules.length === 0 && (
        <p>None: all functions of {plural(names.module_count, "module")} have names.</p>
      )}
      {names && names.modules.length > 0 && (
        <div class="health-scroll" tabIndex={0} role="region" aria-label="Modules without names">
          <table class="health-table controls-cards">
            <thead>
              <tr>
                <th>Module</th>
                <th class="number">Without a name</th>
                <th>Why, and what helps</th>
              </tr>
            </thead>
            <tbody>
              {[...names.modules]
                .sort((a, b) => b.nameless_count - a.nameless_count)
                .map((module, i) => (
                  <Nameless key={i} module={module} />
                ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}

interface CutProps {
  modules: readonly CutModule[];
  /* false: the file does not record which stacks were cut. */
  isKnown: boolean;
}

export function CutModules({ modules, isKnown }: CutProps) {
  return (
    <section class="health-card health-wide">
      <h2>Stacks that end too early</h2>
      {modules.length === 0 ? (
        <p>{noCutText(isKnown)}</p>
      ) : (
        <div class="health-scroll" tabIndex={0} role="region" aria-label="Modules that cut stacks">
          <table class="health-table controls-cards">
            <thead>
              <tr>
                <th>Module</th>
                <th class="number">Stacks</th>
                <th class="number">Live</th>
                <th>Why, and what helps</th>
              </tr>
            </thead>
            <tbody>
              {modules.map((module, i) => (
                <tr key={i}>
                  <td>
                    <NameText text={module.module.replace(/^.*\//, "")} whole={module.module} />
                    <small class="muted">pid {module.pid}</small>
                  </td>
                  <td class="number" data-title="Stacks">
                    {count(module.stacks)}
                  </td>
                  <td class="number" data-title="Live">
                    {bytes(module.live_bytes)}
                  </td>
                  <td data-title="Why, and what helps">
                    <bdi>{module.text}</bdi>
                    {module.remedy && <small class="muted">{module.remedy}</small>}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  );
}
