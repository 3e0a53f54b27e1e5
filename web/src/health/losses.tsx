/*
 * What is missing from the profile, by reason.
 */
import type { Loss } from "../data/report_parts.ts";
import { count } from "../format.ts";

export function Losses({ losses }: { losses: readonly Loss[] | null }) {
  return (
    <section class="health-card">
      <h2>Lost and cut</h2>
      {losses === null && <p>What was lost was not recorded.</p>}
      {losses?.length === 0 && <p>No loss was counted.</p>}
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
