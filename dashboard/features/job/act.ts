import { part, post, remove } from "@/lib/api";
import type { Job } from "@/lib/documents";
import { pathOf } from "@/lib/format";
import { isTerminal } from "@/ui/state";

/** What may be asked of a job: its `can`, and to delete it once it has ended. */
export const verbsOf = (job: Job): string[] => (isTerminal(job.state) && !job.can.includes("delete") ? [...job.can, "delete"] : job.can);

/** Asks one verb of one job; a cancel may say why. */
export function act(job: Job, verb: string, reason = ""): Promise<{ job?: Job }> {
  const path = `/api/jobs/${part(job.id)}`;
  if (verb === "delete") return remove(path);
  return post(`${path}/${pathOf(verb)}`, verb === "cancel" && reason.trim() ? { reason: reason.trim() } : {});
}
