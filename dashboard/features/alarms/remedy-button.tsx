"use client";

import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { filterOf } from "@/features/jobs/filter";
import { post } from "@/lib/api";
import { keys } from "@/lib/query-keys";
import { useMay } from "@/lib/session";
import { later } from "@/ui/later";
import { Link } from "@/ui/link";
import { useToast } from "@/ui/toast";
import type { Remedy } from "./remedies";

const BulkDialog = later(() => import("@/features/jobs/bulk").then((it) => it.BulkDialog));

/** A remedy as a link or a button; what the session may not do is not shown. */
export function RemedyButton({ remedy }: { remedy: Remedy }) {
  const may = { operate: useMay("operate"), admin: useMay("admin") };
  if ("href" in remedy) {
    return (
      <Link href={remedy.href} className="button button-small">
        {remedy.label}
      </Link>
    );
  }
  if (!may["test" in remedy ? "admin" : "operate"]) return null;
  return "bulk" in remedy ? <BulkButton remedy={remedy} /> : <RequestButton remedy={remedy} />;
}

function BulkButton({ remedy }: { remedy: Extract<Remedy, { bulk: string }> }) {
  const [asking, setAsking] = useState(false);
  return (
    <>
      <button type="button" className="button button-small" onClick={() => setAsking(true)}>
        {remedy.label}
      </button>
      {asking && (
        <BulkDialog
          filter={filterOf(new URLSearchParams(remedy.jobs))}
          choose={remedy.bulk}
          onClose={() => setAsking(false)}
        />
      )}
    </>
  );
}

function RequestButton({ remedy }: { remedy: Extract<Remedy, { resume: string } | { test: string }> }) {
  const client = useQueryClient();
  const say = useToast();
  const act = useMutation({
    mutationFn: async () => {
      if ("resume" in remedy) {
        await post("/api/schedules/{name}/resume", { path: { name: remedy.resume } });
        return `Resumed ${remedy.resume}. The alarm clears by itself.`;
      }
      await post("/api/webhooks/{id}/test", { path: { id: remedy.test } });
      return "Sent a test alarm. Its delivery is a job.";
    },
    onSuccess: (done) => {
      void client.invalidateQueries({ queryKey: keys.alarms });
      void client.invalidateQueries({ queryKey: keys.schedules });
      say(done);
    },
    onError: (error) => say(error.message, true),
  });
  return (
    <button
      type="button"
      className="button button-small"
      disabled={act.isPending}
      onClick={() => act.mutate()}
    >
      {remedy.label}
    </button>
  );
}
