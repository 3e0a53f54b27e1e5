/*
 * How the flame graph is drawn: direction, layout, colours, recursion, what it is compared with;
 * the search, and what can be saved.
 */
import { Folded } from "../controls/folded.tsx";
import { DownloadMenu, type Download } from "../controls/download_menu.tsx";
import { SearchBox } from "../controls/search_box.tsx";
import { Select } from "../controls/select.tsx";
import { processTitle, snapshotTitle } from "../data/names.ts";
import { cut, plural, share } from "../format.ts";
import { COLOUR_MODES, COLOUR_TITLES } from "../graph/colours.ts";
import type { GraphModel } from "../graph/model.ts";
import type { Found } from "../graph/search.ts";
import { navigate } from "../state.ts";
import type { Look } from "./look.ts";

interface Props {
  model: GraphModel;
  look: Look;
  text: string;
  found: Found | null;
  downloads: readonly Download[];
  fieldRef: { current: HTMLDivElement | null };
}

function foundText(model: GraphModel, found: Found | null): string {
  if (!found) return "";
  if (found.error) return "no regular expression";
  if (found.functionCount === 0) return "nothing found";
  const { format } = model.spec.selection.measure;
  const part = share(found.total, model.total);
  return `${plural(found.functionCount, "function")}, ${format(found.total)}, ${part}`;
}

function BaseSelect({ model }: { model: GraphModel }) {
  const { profile, spec } = model;
  const options = profile.snapshots
    .map((snapshot, i) => ({ snapshot, i }))
    .filter(({ snapshot }) => snapshot.rows !== null)
    .map(({ snapshot, i }) => ({
      value: String(i),
      text: cut(
        profile.processes.length > 1
          ? `${processTitle(profile, snapshot.process)}: ${snapshotTitle(profile, i)}`
          : snapshotTitle(profile, i),
        80,
      ),
    }));
  if (options.length < 2) return null;
  return (
    <Select
      label="Compare with"
      value={spec.base?.selection.snapshots.join() ?? ""}
      onChange={(value) =>
        navigate({ "flame.base": value || null, "flame.colour": null, "flame.zoom": null })
      }
      options={[{ value: "", text: "nothing" }, ...options]}
    />
  );
}

export function Choices({ model, look, text, found, downloads, fieldRef }: Props) {
  const colours = COLOUR_MODES.filter((mode) => mode !== "change" || look.isCompared);
  return (
    <div class="controls-bar flame-look not-printed" role="group" aria-label="How it is drawn">
      <div ref={fieldRef}>
        <SearchBox
          label="Search: text or /regex/"
          value={text}
          found={foundText(model, found)}
          onChange={(value) => navigate({ "flame.search": value || null }, "replace")}
        />
      </div>
      <Folded words="How it is drawn">
        <div class="flame-choices">
          <Select
            label="Order"
            value={look.direction}
            onChange={(value) =>
              navigate({ "flame.direction": value === "up" ? "up" : null, "flame.zoom": null })
            }
            options={[
              { value: "down", text: "top-down" },
              { value: "up", text: "bottom-up" },
            ]}
          />
          <Select
            label="Grows"
            value={look.isFlame ? "flame" : "icicle"}
            onChange={(value) => navigate({ "flame.layout": value === "flame" ? "flame" : null })}
            options={[
              { value: "icicle", text: "down" },
              { value: "flame", text: "up" },
            ]}
          />
          <Select
            label="Colour"
            value={look.colour}
            onChange={(value) => navigate({ "flame.colour": value })}
            options={colours.map((mode) => ({ value: mode, text: COLOUR_TITLES[mode] }))}
          />
          <BaseSelect model={model} />
          <label class="flame-check">
            <input
              type="checkbox"
              checked={look.isRecursionMerged}
              onChange={(event) =>
                navigate({
                  "flame.recursion": event.currentTarget.checked ? "merged" : null,
                  "flame.zoom": null,
                })
              }
            />
            Merge recursion
          </label>
        </div>
      </Folded>
      <DownloadMenu downloads={downloads} />
    </div>
  );
}
