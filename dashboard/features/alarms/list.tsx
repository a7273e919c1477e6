"use client";

import type { Alarm } from "@/lib/documents";
import { useMay } from "@/lib/session";
import { visible } from "@/lib/visible-text";
import { Copy } from "@/ui/code";
import { Icon } from "@/ui/icon";
import { Time } from "@/ui/time";
import { useAcknowledge } from "./acknowledge";
import { worstFirst } from "./order";
import { remediesOf } from "./remedies";
import { RemedyButton } from "./remedy-button";

export function AlarmList({ alarms }: { alarms: readonly Alarm[] }) {
  return (
    <ul className="divide-y">
      {worstFirst(alarms).map((alarm) => (
        <One key={String(alarm.id)} alarm={alarm} />
      ))}
    </ul>
  );
}

function One({ alarm }: { alarm: Alarm }) {
  const may = useMay("operate");
  const acknowledge = useAcknowledge();
  const open = !alarm.clearedAt && !alarm.acknowledgedAt;
  const tone = !open ? "tone-grey" : alarm.severity === "error" ? "tone-red" : "tone-amber";
  return (
    <li
      data-alarm={alarm.kind}
      className={`${tone} flex flex-wrap items-start gap-x-4 gap-y-2 p-4 text-13 xl:flex-nowrap`}
      style={open ? { boxShadow: "inset 3px 0 var(--tone)" } : undefined}
    >
      <span className="tone mt-0.5">
        <Icon name="warning" />
      </span>
      <div className="min-w-0 grow basis-[calc(100%-40px)] xl:basis-0">
        <p className="break-words">
          <span className="tone font-semibold">{alarm.severity}</span>{" "}
          <span className="font-medium">{visible(alarm.cause)}</span>
        </p>
        <p className="mt-1 break-words text-muted">
          <Prose text={visible(alarm.remedy)} />
        </p>
        <p className="mt-1 text-12 text-muted">
          <code className="text-12 break-all">
            {alarm.kind}
            {alarm.subject ? ` ${visible(alarm.subject)}` : ""}
          </code>{" "}
          ·{" "}
          {alarm.firstAt !== alarm.lastAt && (
            <>
              first <Time at={alarm.firstAt} />, last{" "}
            </>
          )}
          <Time at={alarm.lastAt} />
          {alarm.acknowledgedAt && (
            <>
              {" "}
              · acknowledged <Time at={alarm.acknowledgedAt} />
              {alarm.acknowledgedBy ? ` by ${alarm.acknowledgedBy}` : ""}
            </>
          )}
          {alarm.clearedAt && (
            <>
              {" "}
              · cleared <Time at={alarm.clearedAt} />
            </>
          )}
        </p>
      </div>
      <span className="ml-8 flex flex-wrap gap-2 xl:ml-0 xl:max-w-96 xl:justify-end">
        {remediesOf(alarm).map((remedy) => (
          <RemedyButton key={remedy.label} remedy={remedy} />
        ))}
        {open && may && (
          <button
            type="button"
            className="button button-small"
            disabled={acknowledge.isPending}
            onClick={() => acknowledge.mutate(alarm)}
          >
            Acknowledge
          </button>
        )}
      </span>
    </li>
  );
}

/** A sentence whose commands stand between backticks; each can be copied. */
function Prose({ text }: { text: string }) {
  return text.split("`").map((part, index) =>
    index % 2 ? (
      <span key={index} className="inline-block max-w-full wrap-anywhere">
        <code className="text-12 text-ink">{part}</code>
        <Copy inline text={part} label={`Copy ${part}`} />
      </span>
    ) : (
      part
    ),
  );
}
