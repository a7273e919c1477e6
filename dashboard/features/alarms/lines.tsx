"use client";

import type { Alarm } from "@/lib/documents";
import { plural } from "@/lib/format";
import { useMay } from "@/lib/session";
import { visibleLine } from "@/lib/visible-text";
import { Icon } from "@/ui/icon";
import { Link } from "@/ui/link";
import { Time } from "@/ui/time";
import { useAcknowledge } from "./acknowledge";
import { worstFirst } from "./order";
import { remediesOf } from "./remedies";
import { RemedyButton } from "./remedy-button";

const SHOWN = 10;
const HOW_TO_FIX = { label: "How to fix", href: "/alarms/" };

/** The open alarms, a line each, the worst first; those that do not fit are counted. */
export function AlarmLines({ alarms }: { alarms: readonly Alarm[] }) {
  const may = useMay("operate");
  const acknowledge = useAcknowledge();
  const left = alarms.length - SHOWN;
  if (alarms.length === 0) return null;
  return (
    <ul className="divide-y border-t text-13">
      {worstFirst(alarms)
        .slice(0, SHOWN)
        .map((alarm) => {
          const [remedy] = remediesOf(alarm);
          return (
            <li
              key={String(alarm.id)}
              data-alarm={alarm.kind}
              className={`${alarm.severity === "error" ? "tone-red" : "tone-amber"} flex h-9 items-center gap-3 px-4`}
              style={{ boxShadow: "inset 3px 0 var(--tone)" }}
            >
              <span className="tone flex items-center gap-2 font-semibold">
                <Icon name="warning" />
                <span className="hidden w-14 sm:inline">{alarm.severity}</span>
              </span>
              <span className="min-w-0 flex-1 truncate">
                <Link
                  href="/alarms/"
                  className="hover:underline"
                  title={visibleLine(`${alarm.cause} ${alarm.remedy}`)}
                >
                  {visibleLine(alarm.cause)}
                </Link>
              </span>
              <span className="hidden text-12 text-muted md:inline">
                <Time at={alarm.lastAt} />
              </span>
              <RemedyButton remedy={remedy ?? HOW_TO_FIX} />
              {may && (
                <button
                  type="button"
                  className="button button-small hidden sm:inline-flex"
                  disabled={acknowledge.isPending}
                  onClick={() => acknowledge.mutate(alarm)}
                >
                  Acknowledge
                </button>
              )}
            </li>
          );
        })}
      {left > 0 && (
        <li className="px-4 py-2">
          <Link href="/alarms/" className="link">
            {plural(left, "more alarm")}
          </Link>
        </li>
      )}
    </ul>
  );
}
