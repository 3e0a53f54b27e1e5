/*
 * What is missing from the profile, by reason.
 */
import type { Loss } from "../data/report_parts.ts";
import { count } from "../format.ts";
import { lossText } from "./known.ts";

interface Props {
  losses: readonly Loss[] | null;
  /* false: the losses are those of reading the file. */
  isKnown: boolean;
}

export function Losses({ losses, isKnown }: Props) {
  const text = lossText(losses && losses.length, isKnown);
  return (
    <section class="health-card">
      <h2>Lost and cut</h2>
      {text !== null && <p>{text}</p>}
      {losses && losses.length > 0 && (
        <table class="health-table">
          <thead>
            <tr>
              <th class="number">Number</th>
              <th>What</th>
            </tr>
          </thead>
          <tbody>
            {losses.map((loss) => (
              <tr key={loss.name} class={loss.is_serious ? "health-serious" : ""}>
                <td class="number">{count(loss.count)}</td>
                <td>
                  {loss.is_serious && <b>Figures are too low: </b>}
                  <bdi>{loss.text}</bdi>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}
