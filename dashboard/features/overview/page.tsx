"use client";

import { useQuery } from "@tanstack/react-query";
import Link from "next/link";
import { get } from "@/lib/api";
import type { Alarm, Job, Stats } from "@/lib/documents";
import { count, rate } from "@/lib/format";
import { SOON, every } from "@/lib/fresh";
import { State } from "@/lib/lifecycle.gen";
import { useMaybeSignedIn } from "@/lib/session";
import { useHasSteps } from "@/lib/machines";
import { span } from "@/lib/time";
import { useWide } from "@/lib/wide";
import { LifecycleDiagram } from "@/features/lifecycle/diagram";
import { StateTiles } from "@/features/lifecycle/tiles";
import { AlarmList } from "@/features/alarms/list";
import { Answer, Loading } from "@/ui/answer";
import { Panel } from "@/ui/panel";
import { Next } from "./next";
import { Plots, useSeries } from "./plots";
import { RunningNow } from "./running";

/** Alarms first, then what runs now, how it goes, and what is next. */
export function OverviewPage() {
  const enabled = useMaybeSignedIn();
  const roomy = useWide(640);
  const alarms = useQuery({ queryKey: ["alarms", "open"], queryFn: () => get<{ alarms: Alarm[] }>("/api/alarms"), enabled });
  const stats = useQuery({ queryKey: ["stats"], queryFn: () => get<{ stats: Stats }>("/api/stats"), enabled, refetchInterval: every(SOON) });
  const running = useQuery({ queryKey: ["jobs", "now"], queryFn: () => get<{ jobs: Job[] }>("/api/jobs", { state: State.running, limit: 10 }), enabled, refetchInterval: every(SOON) });
  // Asked for with the rest, although they are shown further down.
  useSeries();
  useHasSteps();
  const open = alarms.data?.alarms.filter((alarm) => !alarm.clearedAt && !alarm.acknowledgedAt) ?? [];
  // Alarms come first on the page, so nothing is shown below them before they are known: it would jump.
  if (alarms.isPending) return <Panel flush className="min-h-dvh"><Loading rows={6} /></Panel>;
  return (
    <div className="flex flex-col gap-6">
      <h1 className="sr-only">Now</h1>
      <Panel flush title={open.length > 0 ? "Alarms" : undefined} aside={<Link prefetch={false} href="/alarms/" className="link">All alarms</Link>}>
        <Answer query={alarms} rows={1}>
          {() => open.length > 0 ? <AlarmList alarms={open.slice(0, 5)} /> : (
            <p className="flex flex-wrap items-baseline justify-between gap-2 p-4"><span className="text-20 font-semibold" data-testid="quiet">Quiet.</span><Numbers stats={stats.data?.stats} /></p>
          )}
        </Answer>
      </Panel>
      <Panel className="sm:min-h-[320px]">{roomy ? <LifecycleDiagram stats={stats.data?.stats} /> : <StateTiles stats={stats.data?.stats} />}</Panel>
      {open.length > 0 && <Panel><Numbers stats={stats.data?.stats} /></Panel>}
      <div className="grid gap-6 xl:grid-cols-[minmax(0,1fr)_400px]">
        <Panel title="Running now" flush aside={<Link prefetch={false} href={`/jobs/?state=${State.running}`} className="link">All of them</Link>}>
          <div className="min-h-24 xl:min-h-[168px]"><Answer query={running}>{({ jobs }) => <RunningNow jobs={jobs} />}</Answer></div>
        </Panel>
        <Panel title="Next" flush><Answer query={stats}>{(data) => <Next stats={data.stats} />}</Answer></Panel>
      </div>
      <Plots />
    </div>
  );
}

function Numbers({ stats }: { stats: Stats | undefined }) {
  const window = stats?.window;
  const numbers = [
    ["jobs a second", window && rate(window.perSecond)],
    ["wait p95", window && (window.wait.p95 === null ? "–" : span(window.wait.p95))],
    ["run p95", window && (window.run.p95 === null ? "–" : span(window.run.p95))],
    [stats?.workers === 1 ? "worker" : "workers", stats && count(stats.workers)],
  ] as const;
  return (
    <span className="flex flex-wrap gap-x-6 gap-y-1 text-13 text-muted" title={window && `Over the last ${span(window.seconds * 1000)}`}>
      {numbers.map(([name, value]) => <span key={name}><b className="inline-block min-w-6 text-right font-medium text-ink">{value ?? "–"}</b> {name}</span>)}
    </span>
  );
}
