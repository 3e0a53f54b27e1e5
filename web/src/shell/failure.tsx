/*
 * What went wrong, in place of what cannot be shown; and a boundary that keeps the failure of one
 * view from the rest of the page.
 */
import { Component, type ComponentChildren } from "preact";

export function Failure({ what, error }: { what: string; error: unknown }) {
  const why = error instanceof Error ? error.message : String(error);
  return (
    <div class="shell-failure" role="alert">
      {what}: {why}.
    </div>
  );
}

export class Boundary extends Component<
  { what: string; children: ComponentChildren },
  { error: unknown }
> {
  override state = { error: null as unknown };

  static override getDerivedStateFromError(error: unknown) {
    return { error };
  }

  override render() {
    const { error } = this.state;
    if (error !== null) return <Failure what={this.props.what} error={error} />;
    return this.props.children;
  }
}
