/*
 * A field for a search. While the user types, it reports the text after a short pause, so that a
 * large profile is not searched for each letter.
 */
import { useEffect, useRef, useState } from "preact/hooks";

import "./controls.css";

const PAUSE_MS = 120;

interface Props {
  label: string;
  value: string;
  onChange: (value: string) => void;
  /* What was found, such as "12 functions, 3.2 MiB". */
  found?: string;
}

export function SearchBox({ label, value, onChange, found }: Props) {
  const [text, setText] = useState(value);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const sent = useRef(value);
  useEffect(() => {
    /* The address changed, by Back for example: not by what is being typed. */
    if (value !== sent.current) {
      sent.current = value;
      setText(value);
    }
  }, [value]);
  useEffect(() => () => clearTimeout(timer.current), []);
  const send = (next: string) => {
    sent.current = next;
    onChange(next);
  };
  return (
    <span class="controls-search">
      <input
        type="search"
        aria-label={label}
        placeholder={label}
        value={text}
        spellcheck={false}
        autocomplete="off"
        onInput={(event) => {
          const next = event.currentTarget.value;
          setText(next);
          clearTimeout(timer.current);
          timer.current = setTimeout(() => send(next), PAUSE_MS);
        }}
      />
      <span class="muted" role="status">
        {found}
      </span>
    </span>
  );
}
