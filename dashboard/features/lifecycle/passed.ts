import type { Pulse } from "@/lib/documents";
import { State, TRANSITIONS } from "@/lib/lifecycle.gen";
import type { Passed } from "@/lib/live-updates";

type Edge = Pulse["edges"][number];

// There is one way into the running state: a pick, which no history tells, since it would double what every job writes.
const PICK = TRANSITIONS.find((row) => row.to === State.running);

/** What passed on the stream, as edges of the lifecycle. */
export function edgesOf(passed: Passed): Edge[] {
  if ("pulse" in passed) return passed.pulse.edges;
  const count = Object.values(passed.counts.picked ?? {}).reduce((sum, each) => sum + each, 0);
  return PICK && count > 0 ? [{ verb: PICK.verb, from: PICK.from, to: PICK.to, count }] : [];
}
