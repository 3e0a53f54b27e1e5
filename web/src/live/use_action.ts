/*
 * Something that a button does: it runs once at a time, and its failure is kept to be shown.
 */
import { useRef, useState } from "preact/hooks";

export interface Action {
  run: () => void;
  isRunning: boolean;
  error: unknown;
}

export function useAction(act: () => Promise<void>): Action {
  const [state, setState] = useState<{ isRunning: boolean; error: unknown }>({
    isRunning: false,
    error: null,
  });
  const isBusy = useRef(false);
  const run = async () => {
    if (isBusy.current) return;
    isBusy.current = true;
    setState({ isRunning: true, error: null });
    try {
      await act();
      setState({ isRunning: false, error: null });
    } catch (error) {
      setState({ isRunning: false, error });
    }
    isBusy.current = false;
  };
  return { run: () => void run(), ...state };
}
