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
  isDisabled?: boolean;
}

export function Select({ label, value, options, onChange, isDisabled = false }: Props) {
  return (
    <label class="controls-select">
      <span>{label}</span>
      <select
        value={value}
        disabled={isDisabled}
        onChange={(event) => onChange(event.currentTarget.value)}
      >
        {options.map((option) => (
          <option key={option.value} value={option.value} disabled={option.isDisabled ?? false}>
            {option.text}
          </option>
        ))}
      </select>
    </label>
  );
}
