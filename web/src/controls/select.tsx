/*
 * A labelled choice between a few values.
 */
export interface Option {
  value: string;
  text: string;
  isDisabled?: boolean;
}

interface Props {
  label: string;
  value: string;
  options: readonly Option[];
  onChange: (value: string) => void;
}

export function Select({ label, value, options, onChange }: Props) {
  return (
    <label class="controls-select">
      <span>{label}</span>
      <select value={value} onChange={(event) => onChange(event.currentTarget.value)}>
        {options.map((option) => (
          <option key={option.value} value={option.value} disabled={option.isDisabled ?? false}>
            {option.text}
          </option>
        ))}
      </select>
    </label>
  );
}
