"use client";

import { type ComponentType, useEffect, useState } from "react";
import { NotFound } from "@/features/shell/not-found";
import { Loading } from "@/ui/answer";
import { loadParts } from "@/ui/later";

const LOADERS: Record<string, () => Promise<ComponentType>> = {
  "/": () => import("@/features/overview/page").then((it) => it.OverviewPage),
  "/jobs/": () => import("@/features/jobs/page").then((it) => it.JobsPage),
  "/job/": () => import("@/features/job/page").then((it) => it.JobPage),
  "/errors/": () => import("@/features/errors/page").then((it) => it.ErrorsPage),
  "/schedules/": () => import("@/features/schedules/page").then((it) => it.SchedulesPage),
  "/schedule/": () => import("@/features/schedules/detail").then((it) => it.SchedulePage),
  "/machines/": () => import("@/features/machines/page").then((it) => it.MachinesPage),
  "/machine/": () => import("@/features/machines/detail").then((it) => it.MachinePage),
  "/lifecycle/": () => import("@/features/lifecycle/page").then((it) => it.LifecyclePage),
  "/queues/": () => import("@/features/queues/page").then((it) => it.QueuesPage),
  "/queue/": () => import("@/features/queues/detail").then((it) => it.QueuePage),
  "/workers/": () => import("@/features/workers/page").then((it) => it.WorkersPage),
  "/worker/": () => import("@/features/workers/detail").then((it) => it.WorkerPage),
  "/alarms/": () => import("@/features/alarms/page").then((it) => it.AlarmsPage),
  "/settings/": () => import("@/features/settings/page").then((it) => it.SettingsPage),
  "/sign-in/": () => import("@/features/session/page").then((it) => it.SignInPage),
};
const AGAIN_AFTER = 1500;

const loaded = new Map<string, ComponentType>();

async function load(path: string): Promise<void> {
  const loader = LOADERS[path];
  if (loader && !loaded.has(path)) loaded.set(path, await loader());
}

/** The page of a path one went to inside the dashboard; its code comes from the cache or, if need be, later. */
export function Routed({ path }: { path: string }) {
  const [, setTries] = useState(0);
  const Page = loaded.get(path);
  useEffect(() => {
    // What was rendered counts: the code may have come between that and now, and then nothing else would show it.
    if (Page) return;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let left = false;
    const attempt = () => {
      const again = () => {
        timer = setTimeout(attempt, AGAIN_AFTER);
      };
      load(path).then(() => !left && setTries((tries) => tries + 1), again);
    };
    attempt();
    return () => {
      left = true;
      clearTimeout(timer);
    };
  }, [path]);
  if (!(path in LOADERS)) return <NotFound />;
  return Page ? <Page /> : <Loading rows={6} />;
}

/** Reads the code of every page while nothing else happens, so that none has to be asked for later. */
export function usePreloadedPages() {
  useEffect(() => {
    const all = () =>
      void Promise.all(Object.keys(LOADERS).map(load))
        .then(loadParts)
        .then(
          () => {
            document.documentElement.dataset.pages = "ready";
          },
          () => undefined,
        );
    const wait = setTimeout(() => (window.requestIdleCallback ?? ((then: () => void) => then()))(all), 1000);
    return () => clearTimeout(wait);
  }, []);
}
