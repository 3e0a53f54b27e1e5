/*
 * The view of what runs now, which pages of `heapscope ui` have.
 */
import { Live } from "./live.tsx";

export const LIVE = { id: "live", title: "Live", component: Live };
