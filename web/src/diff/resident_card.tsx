/*
 * How the resident memory changed, part by part, where both sides recorded what it consisted of.
 */
import { ChangeBar, type Tone } from "../controls/change_bar.tsx";
import type { Profile } from "../data/profile.ts";
import { bytes, cut, signed } from "../format.ts";
import { usePromise } from "../shell/use_promise.ts";
import { partChanges, type PartChange } from "./resident.ts";
import type { Sides } from "./sides.ts";

const SHOWN = 8;

/* Readings are exact: each difference is a change. */
function toneOfPart({ before, after }: PartChange): Tone {
  if (after === before) return "noise";
  return after > before ? "grew" : "shrank";
}

function Row({ part, largest }: { part: PartChange; largest: number }) {
  const delta = part.after - part.before;
  const tone = toneOfPart(part);
  return (
    <tr>
      <td class={`number diff-delta change-${tone}`}>{signed(delta, bytes)}</td>
      <td class="diff-bar-cell">
        <ChangeBar tone={tone} change={delta} largest={largest} />
      </td>
      <td class="number diff-before">{bytes(part.before)}</td>
      <td class="number diff-after">{bytes(part.after)}</td>
      <th scope="row">
        <bdi>{cut(part.name, 120)}</bdi>
      </th>
    </tr>
  );
}

export function ResidentCard({ profile, sides }: { profile: Profile; sides: Sides }) {
  const isSingle = sides.before.length === 1 && sides.after.length === 1;
  const { value } = usePromise(async () => {
    if (!isSingle) return null;
    const [before, after] = await Promise.all([
      profile.ledger(sides.before[0]),
      profile.ledger(sides.after[0]),
    ]);
    return before && after ? { before, after } : null;
  }, [profile, sides.before.join(), sides.after.join()]);
  if (!value) return null;
  const parts = partChanges(value.before, value.after).slice(0, SHOWN);
  const whole = {
    name: "all resident memory",
    before: value.before.rss_bytes,
    after: value.after.rss_bytes,
  };
  const largest = Math.max(...[whole, ...parts].map((part) => Math.abs(part.after - part.before)));
  return (
    <section class="change-card">
      <h2>Resident memory</h2>
      <p class="muted">Read from the system: there is no sampling error.</p>
      <div class="diff-scroll" tabIndex={0} role="group" aria-label="Resident memory">
        <table class="diff-table diff-resident">
          <thead>
            <tr>
              <th scope="col" colSpan={2}>
                Change
              </th>
              <th scope="col" class="diff-before">
                Before
              </th>
              <th scope="col" class="diff-after">
                After
              </th>
              <th scope="col">Part</th>
            </tr>
          </thead>
          <tbody>
            <Row part={whole} largest={largest} />
            {parts.map((part) => (
              <Row key={part.name} part={part} largest={largest} />
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}
