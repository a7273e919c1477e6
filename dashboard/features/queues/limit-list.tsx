import type { Queue } from "@/lib/documents";
import { sayLimits } from "./say-limits";

/** The limits of a queue. A line breaks between two of them only. */
export function LimitList({ queue }: { queue: Queue | undefined }) {
  const limits = queue ? sayLimits(queue) : [];
  if (limits.length === 0) return <>no limits</>;
  return limits.map((each, index) => (
    <span key={each}>
      {index > 0 && " "}
      <span className="whitespace-nowrap">
        {each}
        {index < limits.length - 1 && ","}
      </span>
    </span>
  ));
}
