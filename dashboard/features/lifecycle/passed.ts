import type { Pulse } from "@/lib/documents";
import { State, TRANSITIONS } from "@/lib/lifecycle.gen";

type Passed = Pulse["edges"][number];

const INTO_RUNNING = TRANSITIONS.filter((row) => row.to === State.running);

/**
 * The edges that jobs passed, with those that no history tells. A pick is not recorded: it would double what every
 * job writes. But there is one way into that state, so whatever is told to have left it was picked before. The pick
 * shows when the job leaves, not when it was taken; counts on the nodes are never derived, only this.
 */
export function withPicks(told: readonly Passed[]): Passed[] {
  const left = told.filter((edge) => edge.from === State.running).reduce((sum, edge) => sum + edge.count, 0);
  const [pick, ...others] = INTO_RUNNING;
  if (left === 0 || !pick || others.length > 0) return [...told];
  return [{ verb: pick.verb, from: pick.from, to: pick.to, count: left }, ...told];
}
