"use client";

import { useMutation, useQueryClient } from "@tanstack/react-query";
import { part, post } from "@/lib/api";
import type { Alarm } from "@/lib/documents";
import { plural } from "@/lib/format";
import { useMay } from "@/lib/session";
import { Icon } from "@/ui/icon";
import { Time } from "@/ui/time";
import { useToast } from "@/ui/toast";

export function AlarmList({ alarms }: { alarms: readonly Alarm[] }) {
  const client = useQueryClient();
  const say = useToast();
  const may = useMay("operate");
  const acknowledge = useMutation({
    mutationFn: (alarm: Alarm) => post(`/api/alarms/${part(alarm.id)}/acknowledge`, {}),
    onSuccess: () => client.invalidateQueries({ queryKey: ["alarms"] }),
    onError: (error) => say(error.message, true),
  });
  return (
    <ul className="divide-y">
      {alarms.map((alarm) => {
        const open = !alarm.clearedAt && !alarm.acknowledgedAt;
        const tone = !open ? "tone-grey" : alarm.severity === "error" ? "tone-red" : "tone-amber";
        return (
          <li key={String(alarm.id)} data-alarm={alarm.kind} className={`${tone} flex flex-wrap items-start gap-x-4 gap-y-2 p-4 text-13 sm:flex-nowrap`} style={open ? { boxShadow: "inset 3px 0 var(--tone)" } : undefined}>
            <span className="tone mt-0.5"><Icon name="warning" /></span>
            <div className="min-w-0 grow basis-[calc(100%-40px)] sm:basis-0">
              <p className="break-words"><span className="tone font-semibold">{alarm.severity}</span> <span className="font-medium">{alarm.cause}</span></p>
              <p className="mt-1 break-words text-muted"><Prose text={alarm.remedy} /></p>
              <p className="mt-1 text-12 text-muted">
                <code className="text-12 break-all">{alarm.kind}{alarm.subject ? ` ${alarm.subject}` : ""}</code> · {alarm.count > 1 && <>{plural(alarm.count, "time")}, first <Time at={alarm.firstAt} />, last </>}<Time at={alarm.lastAt} />
                {alarm.acknowledgedAt && <> · acknowledged <Time at={alarm.acknowledgedAt} />{alarm.acknowledgedBy ? ` by ${alarm.acknowledgedBy}` : ""}</>}
                {alarm.clearedAt && <> · cleared <Time at={alarm.clearedAt} /></>}
              </p>
            </div>
            {open && may && <button type="button" className="button button-small ml-8 sm:ml-0" disabled={acknowledge.isPending} onClick={() => acknowledge.mutate(alarm)}>Acknowledge</button>}
          </li>
        );
      })}
    </ul>
  );
}

/** A sentence whose commands stand between backticks. */
function Prose({ text }: { text: string }) {
  return text.split("`").map((part, index) => (index % 2 ? <code key={index} className="text-12 text-ink">{part}</code> : part));
}
