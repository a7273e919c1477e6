"use client";

import { useQuery } from "@tanstack/react-query";
import { Suspense, useEffect, useRef, useState } from "react";
import { go, useOpenPage, usePath } from "@/lib/address";
import { get } from "@/lib/api";
import { focusContent, useKeys } from "@/lib/keyboard";
import { keys } from "@/lib/query-keys";
import { useMay, useMaybeSignedIn } from "@/lib/session";
import { Icon } from "@/ui/icon";
import { later } from "@/ui/later";
import { Link } from "@/ui/link";
import { Connection } from "./connection";
import { Foot } from "./foot";
import { PAGES } from "./pages";
import { PaletteField } from "./palette-field";
import { Routed, usePreloadedPages } from "./routes";
import { Search } from "./search";

const EnqueueDialog = later(() => import("@/features/jobs/enqueue").then((it) => it.EnqueueDialog));
const Help = later(() => import("./help").then((it) => it.Help));
const Palette = later(
  () => import("./palette").then((it) => it.Palette),
  (props) => <PaletteField {...props} />,
);

/** The frame around every page: where one is, where one can go, whether all is well. */
export function Shell({ children }: { children: React.ReactNode }) {
  const path = usePath();
  // The page that the service sent stays mounted as it came; any other is drawn from its code.
  const [entry] = useState(path);
  usePreloadedPages();
  const [menu, setMenu] = useState(false);
  const [help, setHelp] = useState(false);
  const [enqueue, setEnqueue] = useState(false);
  // What is typed in the palette, or null while it is closed.
  const [palette, setPalette] = useState<string | null>(null);
  const may = useMay("enqueue");

  useEffect(() => setMenu(false), [path]);
  useKeys({
    "mod+k": () => setPalette(""),
    "?": () => setHelp(true),
    c: () => may && setEnqueue(true),
    ...Object.fromEntries(PAGES.map((page) => [`g ${page.key}`, () => go(page.href)])),
  });

  const page = path === entry ? children : <Routed path={path} />;
  const frame = (
    <div className="min-h-dvh lg:grid lg:grid-cols-[216px_1fr]">
      <a
        href="#main"
        className="sr-only focus:not-sr-only focus:absolute focus:z-50 focus:bg-panel focus:p-2"
      >
        Go to the content
      </a>
      <aside
        className={`${menu ? "fixed inset-0 z-40 flex" : "hidden"} flex-col border-r bg-panel lg:sticky lg:top-0 lg:flex lg:h-dvh`}
      >
        <div className="flex h-14 items-center justify-between px-4">
          <Brand />
          <button
            type="button"
            className="button button-bare lg:hidden"
            aria-label="Close the menu"
            onClick={() => setMenu(false)}
          >
            <Icon name="close" />
          </button>
        </div>
        <Pages path={path} />
        <Foot onHelp={() => setHelp(true)} />
      </aside>
      <div className="flex min-w-0 flex-col">
        <header className="sticky top-0 z-30 flex h-14 items-center gap-2 border-b bg-page px-4 lg:px-8">
          <button
            type="button"
            className="button button-bare -ml-2 lg:hidden"
            aria-label="Open the menu"
            aria-expanded={menu}
            onClick={() => setMenu(true)}
          >
            <Icon name="menu" />
          </button>
          <Suspense>
            <Search />
          </Suspense>
          <span className="flex-1" />
          <Connection />
          {may && (
            <button type="button" className="button button-primary" onClick={() => setEnqueue(true)}>
              <Icon name="plus" size={14} />
              <span>
                Enqueue<span className="hidden sm:inline"> a job</span>
              </span>
            </button>
          )}
        </header>
        <main
          id="main"
          tabIndex={-1}
          className="mx-auto w-full max-w-[1440px] min-w-0 flex-1 px-4 py-6 lg:px-8"
        >
          {page}
        </main>
      </div>
      {palette !== null && (
        <Palette
          typed={palette}
          onType={setPalette}
          onClose={() => setPalette(null)}
          onEnqueue={may ? () => setEnqueue(true) : undefined}
        />
      )}
      {help && <Help onClose={() => setHelp(false)} />}
      {enqueue && <EnqueueDialog onClose={() => setEnqueue(false)} />}
    </div>
  );
  return (
    <>
      <Suspense>
        <NewPageFocus />
      </Suspense>
      {path.startsWith("/sign-in") ? page : frame}
    </>
  );
}

/** Gives the content the focus when another page is shown; what had it before is gone. */
function NewPageFocus() {
  const page = useOpenPage();
  const shown = useRef(page);
  useEffect(() => {
    if (shown.current !== page) focusContent();
    shown.current = page;
  }, [page]);
  return null;
}

export function Brand() {
  return (
    <Link href="/" className="flex items-center gap-2 text-16 font-semibold tracking-tight">
      <svg
        viewBox="0 0 20 20"
        width="20"
        height="20"
        aria-hidden="true"
        fill="none"
        stroke="var(--accent)"
        strokeWidth="2"
        strokeLinecap="round"
      >
        <path d="M10 2a8 8 0 1 1-7.4 5" />
        <path d="M10 6v4l2.5 2.5" />
      </svg>
      Kairos
    </Link>
  );
}

function Pages({ path }: { path: string }) {
  const enabled = useMaybeSignedIn();
  const alarms = useQuery({
    queryKey: keys.alarmList("open"),
    queryFn: () => get("/api/alarms"),
    enabled,
  });
  const loud = alarms.data?.alarms.filter((alarm) => !alarm.acknowledgedAt && !alarm.clearedAt).length ?? 0;
  return (
    <nav aria-label="Pages" className="flex flex-1 flex-col gap-0.5 overflow-y-auto px-2 py-2">
      {PAGES.map((page) => {
        const here =
          page.href === "/"
            ? path === "/"
            : path.startsWith(page.href) || (page.covers !== undefined && path.startsWith(page.covers));
        return (
          <Link
            key={page.href}
            href={page.href}
            aria-current={here ? "page" : undefined}
            className={`flex h-9 items-center gap-3 rounded-md px-2.5 text-14 ${here ? "bg-sunk font-medium text-ink" : "text-muted hover:bg-sunk hover:text-ink"}`}
          >
            <Icon name={page.icon} />
            {page.name}
            {page.name === "Alarms" && loud > 0 && (
              <span className="tone tone-red tone-soft ml-auto rounded-full px-2 text-12 font-medium">
                {loud}
                <span className="sr-only"> open</span>
              </span>
            )}
          </Link>
        );
      })}
    </nav>
  );
}
