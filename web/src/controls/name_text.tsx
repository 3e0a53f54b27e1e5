/*
 * A name from a profile as text: isolated from the direction of the text around it, and cut to a
 * length. Its whole text, up to a limit, is the tooltip.
 */
import { cut } from "../format.ts";

const TOOLTIP_CHARACTERS = 2000;

interface Props {
  text: string;
  /* The name of which `text` is the short form. */
  whole?: string;
  most?: number;
}

export function NameText({ text, whole = text, most = 160 }: Props) {
  return (
    <bdi class="name" title={cut(whole, TOOLTIP_CHARACTERS)}>
      {cut(text, most)}
    </bdi>
  );
}
