/*
 * What the tables of this view have in common: heads that sort, and arrow keys between rows.
 */
import type { ComponentChildren } from "preact";

interface HeadProps {
  title: ComponentChildren;
  isNumber: boolean;
  more?: string;
  /* null: the table is sorted by another column */
  order: "ascending" | "descending" | null;
  onSort: () => void;
}

export function SortHead({ title, isNumber, more = "", order, onSort }: HeadProps) {
  const sign = order === null ? "" : order === "ascending" ? " ▲" : " ▼";
  return (
    <th scope="col" class={`${isNumber ? "number" : ""} ${more}`} aria-sort={order ?? "none"}>
      <button type="button" class="live-sort" onClick={onSort}>
        {title}
        <span aria-hidden="true">{sign}</span>
      </button>
    </th>
  );
}

/* Up and Down move from the button of one row to that of the next one. */
export function moveInColumn(event: KeyboardEvent): void {
  const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
  const button = event.target;
  if (step === 0 || !(button instanceof HTMLButtonElement)) return;
  const table = button.closest("table");
  const buttons = [...(table?.querySelectorAll<HTMLButtonElement>("tbody button") ?? [])].filter(
    (each) => !each.disabled,
  );
  const next = buttons[buttons.indexOf(button) + step];
  if (!next || !buttons.includes(button)) return;
  event.preventDefault();
  next.focus();
}
