"use client";

import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useRef, useState } from "react";
import { useAddress } from "@/lib/address";
import { get } from "@/lib/api";
import type { Job } from "@/lib/documents";
import { plural } from "@/lib/format";
import { keys } from "@/lib/query-keys";
import { useMay, useMaybeSignedIn, useSession } from "@/lib/session";
import { Answer, Empty } from "@/ui/answer";
import { later } from "@/ui/later";
import { PageButtons } from "@/ui/more";
import { PageTitle } from "@/ui/panel";
import { Time } from "@/ui/time";
import { asQuery, CLEARED, filterOf, isSet } from "./filter";
import { FilterBar } from "./filter-bar";
import { usePinnedRows } from "./pinned-rows";
import { SelectedBar } from "./selected";
import { useSelection } from "./selection";
import { JobTable } from "./table";

const LIMIT = 50;

const BulkDialog = later(() => import("./bulk").then((it) => it.BulkDialog));
const SavedViews = later(
  () => import("./saved-views").then((it) => it.SavedViews),
  <span className="button" aria-hidden="true">
    Views
  </span>,
);

export function JobsPage() {
  const { params, change } = useAddress();
  const enabled = useMaybeSignedIn();
  const session = useSession();
  const may = useMay("operate");
  const [bulk, setBulk] = useState(false);
  const [pointed, setPointed] = useState(false);
  const [walked, setWalked] = useState(false);
  const [focused, setFocused] = useState(false);
  const filter = filterOf(params);
  const cursor = params.get("cursor");
  const query = useQuery({
    queryKey: keys.jobList(asQuery(filter), cursor),
    queryFn: ({ signal }) =>
      get("/api/jobs", { query: { ...asQuery(filter), cursor, limit: LIMIT }, signal }),
    placeholderData: keepPreviousData,
    enabled,
    gcTime: 5000, // a page one has left is read again: two hundred of them would be kept for nothing
  });
  const shown = useRef<readonly Job[]>([]);
  const selection = useSelection(shown, params.toString());
  const pinned = usePinnedRows(
    query.data?.jobs,
    !query.isPlaceholderData && (pointed || focused || walked || selection.jobs.length > 0),
    params.toString(),
  );
  shown.current = pinned.rows.map((row) => row.job);
  const older = query.data?.nextCursor;
  const all = () => change(CLEARED);

  return (
    <>
      <PageTitle title="Jobs">
        <SavedViews />
        {may && (
          <button
            type="button"
            className="button"
            disabled={!query.data?.jobs.length || !isSet(filter)}
            title={isSet(filter) ? undefined : "Choose a state or another filter first"}
            onClick={() => setBulk(true)}
          >
            Bulk actions…
          </button>
        )}
      </PageTitle>
      <FilterBar filter={filter} change={(changes) => change({ ...changes, cursor: null })} />
      <div
        // As high as the window leaves room for, so that what follows stays where it is when the rows come.
        className="panel relative min-h-[max(24rem,calc(100dvh-15.5rem))] overflow-x-auto"
        aria-busy={query.isPlaceholderData}
        onPointerEnter={(event) => event.pointerType === "mouse" && setPointed(true)}
        onPointerLeave={() => setPointed(false)}
      >
        {pinned.fresh > 0 && (
          <button
            type="button"
            className="button button-small absolute top-1 left-1/2 z-10 -translate-x-1/2 border-accent"
            onClick={() => {
              setFocused(false);
              pinned.release();
            }}
          >
            {pinned.fresh}
            {pinned.fresh >= LIMIT ? "+" : ""} new
          </button>
        )}
        <section
          aria-label="Jobs"
          onFocus={() => setFocused(true)}
          onBlur={(event) => !event.currentTarget.contains(event.relatedTarget) && setFocused(false)}
        >
          <Answer query={query} rows={10}>
            {({ searchedTo }) =>
              pinned.rows.length > 0 ? (
                <JobTable
                  rows={pinned.rows}
                  selection={session && !may ? null : selection}
                  onCursor={setWalked}
                  filters={filter.input}
                />
              ) : older ? (
                <Empty
                  title={
                    searchedTo ? (
                      <>
                        No match back to <Time at={searchedTo} />.
                      </>
                    ) : (
                      "No match so far."
                    )
                  }
                >
                  {filter.input.length > 0 && (
                    <p>
                      No index has this argument, so only the newest jobs were searched. An action declares
                      such arguments with <code>search=[…]</code>.
                    </p>
                  )}
                  <button
                    type="button"
                    className="button button-small mt-2"
                    onClick={() => change({ cursor: older }, "push")}
                  >
                    Search older jobs
                  </button>
                </Empty>
              ) : isSet(filter) || cursor ? (
                <Empty title="No job matches.">
                  <button type="button" className="button button-small mt-2" onClick={all}>
                    Show all jobs
                  </button>
                </Empty>
              ) : (
                <Empty title="No jobs yet.">
                  Enqueue one with the button above, from your code, or by a schedule. It appears here at
                  once.
                </Empty>
              )
            }
          </Answer>
        </section>
      </div>
      <nav aria-label="More jobs" className="mt-4 mb-16 flex items-center justify-between text-13 text-muted">
        <span>Newest first{query.data ? `, ${plural(pinned.rows.length, "job")} shown` : ""}</span>
        <span className="flex gap-2">
          <PageButtons
            cursor={cursor}
            older={older}
            onTurn={(to) => {
              change({ cursor: to }, "push");
              if (to) window.scrollTo({ top: 0 });
            }}
          />
        </span>
      </nav>
      {may && <SelectedBar selection={selection} shown={pinned.rows.length} />}
      {bulk && <BulkDialog filter={filter} onClose={() => setBulk(false)} />}
    </>
  );
}
