"use client";

import { useQuery } from "@tanstack/react-query";
import { AlarmLines } from "@/features/alarms/lines";
import { Plots } from "@/features/charts/plots";
import { EVERYTHING, useSeries } from "@/features/charts/series";
import { StateTiles } from "@/features/lifecycle/tiles";
import { get } from "@/lib/api";
import type { Stats } from "@/lib/documents";
import { count, rate } from "@/lib/format";
import { State } from "@/lib/lifecycle.gen";
import { useHasSteps } from "@/lib/machines";
import { keys } from "@/lib/query-keys";
import { useMaybeSignedIn } from "@/lib/session";
import { span } from "@/lib/time";
import { useTitle } from "@/lib/title";
import { useWide } from "@/lib/window-width";
import { Answer, Loading } from "@/ui/answer";
import { later } from "@/ui/later";
import { Link } from "@/ui/link";
import { Panel } from "@/ui/panel";
import { Next } from "./next";
import { RunningNow } from "./running";

const LifecycleDiagram = later(() =>
  import("@/features/lifecycle/diagram").then((it) => it.LifecycleDiagram),
);

/** Alarms first, then how it goes, what runs now and what is next. */
export function OverviewPage() {
  const enabled = useMaybeSignedIn();
  const roomy = useWide(640);
  useTitle("Now");
  const alarms = useQuery({
    queryKey: keys.alarmList("open"),
    queryFn: () => get("/api/alarms"),
    enabled,
  });
  const stats = useQuery({
    queryKey: keys.stats,
    queryFn: () => get("/api/stats"),
    enabled,
  });
  const running = useQuery({
    queryKey: keys.runningNow,
    queryFn: () => get("/api/jobs", { query: { state: [State.running], limit: 10 } }),
    enabled,
  });
  useSeries(EVERYTHING);
  useHasSteps(); // asked for with the rest, although both are shown further down
  const open = alarms.data?.alarms.filter((alarm) => !alarm.clearedAt && !alarm.acknowledgedAt) ?? [];
  // Alarms come first on the page, so nothing is shown below them before they are known: it would jump.
  if (alarms.isPending) {
    return (
      <Panel flush className="min-h-dvh">
        <Loading rows={6} />
      </Panel>
    );
  }
  return (
    <div className="flex flex-col gap-4">
      <h1 className="sr-only">Now</h1>
      <Panel flush>
        <Answer query={alarms} rows={1}>
          {() => (
            <>
              <div className="flex min-h-12 flex-wrap items-center justify-between gap-x-4 gap-y-1 px-4 py-2">
                {open.length > 0 ? (
                  <h2 className="tone tone-red text-14 font-semibold">
                    {open.length === 1 ? "1 alarm" : `${open.length} alarms`}
                  </h2>
                ) : (
                  <span className="text-20 font-semibold" data-testid="quiet">
                    Quiet.
                  </span>
                )}
                <Numbers stats={stats.data?.stats} />
              </div>
              <AlarmLines alarms={open} />
            </>
          )}
        </Answer>
      </Panel>
      <Plots />
      <Panel className="sm:min-h-[320px]">
        {roomy ? <LifecycleDiagram stats={stats.data?.stats} /> : <StateTiles stats={stats.data?.stats} />}
      </Panel>
      <div className="grid gap-4 xl:grid-cols-[minmax(0,1fr)_400px]">
        <Panel
          title="Running now"
          flush
          aside={
            <Link href={`/jobs/?state=${State.running}`} className="link">
              All running jobs
            </Link>
          }
        >
          <div className="min-h-24 xl:min-h-[168px]">
            <Answer query={running}>{({ jobs }) => <RunningNow jobs={jobs} />}</Answer>
          </div>
        </Panel>
        <Panel title="Next ticks" flush>
          <Answer query={stats}>{(data) => <Next stats={data.stats} />}</Answer>
        </Panel>
      </div>
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
    <span
      className="flex flex-wrap gap-x-6 gap-y-1 text-13 text-muted"
      title={window && `Over the last ${span(window.seconds * 1000)}`}
    >
      {numbers.map(([name, value]) => (
        <span key={name}>
          <b className="inline-block min-w-6 text-right font-medium text-ink">{value ?? "–"}</b> {name}
        </span>
      ))}
    </span>
  );
}
