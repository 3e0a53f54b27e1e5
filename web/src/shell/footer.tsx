/*
 * Which program wrote the page, and what was left out of it.
 */
import type { Profile } from "../data/profile.ts";

export function Footer({ profile }: { profile: Profile }) {
  return (
    <footer class="shell-footer muted">
      <p>Written by {profile.generator}. Sizes are powers of 1024: 1 KiB is 1,024 bytes.</p>
      {profile.leftOut && <p>{profile.leftOut}</p>}
    </footer>
  );
}
