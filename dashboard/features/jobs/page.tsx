"use client";

import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useAddress } from "@/lib/address";
import { get } from "@/lib/api";
import type { Job } from "@/lib/documents";
import { SOON, every } from "@/lib/fresh";
import { useMay, useMaybeSignedIn, useSession } from "@/lib/session";
import { Answer, Empty } from "@/ui/answer";
import { Icon } from "@/ui/icon";
import { PageTitle } from "@/ui/panel";
import { BulkDialog } from "./bulk";
import { FilterBar } from "./filter-bar";
import { asQuery, filterOf, isSet, type Filter } from "./filter";
import { SelectedBar } from "./selected";
import { useSelection } from "./selection";
import { JobTable } from "./table";

const LIMIT = 50;
const LOOKS = 20;

const NONE: readonly Job[] = [];

type Listed = { jobs: Job[]; nextCursor: string | null };

/** The next page that has something: the service may answer an empty one and a cursor to go on with. */
async function firstFilled(filter: Filter, cursor: string | null, signal: AbortSignal): Promise<Listed> {
  let page = await get<Listed>("/api/jobs", { ...asQuery(filter), cursor, limit: LIMIT }, signal);
  for (let looks = 1; page.jobs.length === 0 && page.nextCursor && looks < LOOKS; looks += 1) {
    page = await get<Listed>("/api/jobs", { ...asQuery(filter), cursor: page.nextCursor, limit: LIMIT }, signal);
  }
  return page;
}

export function JobsPage() {
  const { params, change } = useAddress();
  const enabled = useMaybeSignedIn();
  const session = useSession();
  const [bulk, setBulk] = useState(false);
  const may = useMay("operate");
  const filter = filterOf(params);
  const cursor = params.get("cursor");
  const query = useQuery({
    queryKey: ["jobs", asQuery(filter), cursor],
    queryFn: ({ signal }) => firstFilled(filter, cursor, signal),
    placeholderData: keepPreviousData,
    enabled,
    refetchInterval: every(SOON),
    gcTime: 5000, // a page one has left is read again: two hundred of them would be kept for nothing
  });
  const shown = query.data?.jobs ?? NONE;
  const selection = useSelection(shown, params.toString());
  const older = query.data?.nextCursor;

  return (
    <>
      <PageTitle title="Jobs">
        {may && <button type="button" className="button" disabled={!query.data?.jobs.length || !isSet(filter)} title={isSet(filter) ? undefined : "Choose a state or another filter first"} onClick={() => setBulk(true)}>Act on all that match…</button>}
      </PageTitle>
      <FilterBar filter={filter} change={(changes) => change({ ...changes, cursor: null })} />
      <div className="panel overflow-x-auto" aria-busy={query.isPlaceholderData}>
        <Answer query={query} rows={10}>
          {({ jobs }) => jobs.length > 0 ? <JobTable jobs={jobs} selection={session && !may ? null : selection} /> : older ? <Empty title="Nothing here matches so far.">There are older jobs to look through.</Empty> : isSet(filter) || cursor ? (
            <Empty title="No job matches.">
              <button type="button" className="button button-small mt-2" onClick={() => change({ state: null, action: null, queue: null, tag: null, key: null, schedule: null, text: null, from: null, to: null, cursor: null })}>Show all jobs</button>
            </Empty>
          ) : <Empty title="No jobs yet.">Enqueue one with the button above, from your code, or by a schedule. It appears here at once.</Empty>}
        </Answer>
      </div>
      <nav aria-label="More jobs" className="mt-4 mb-16 flex items-center justify-between text-13 text-muted">
        <span>Newest first{query.data ? `, ${query.data.jobs.length} shown` : ""}</span>
        <span className="flex gap-2">
          {cursor && <button type="button" className="button" onClick={() => change({ cursor: null }, "push")}><Icon name="left" size={14} />Newest</button>}
          <button type="button" className="button" disabled={!older} onClick={() => { change({ cursor: older ?? null }, "push"); window.scrollTo({ top: 0 }); }}>Older<Icon name="right" size={14} /></button>
        </span>
      </nav>
      {may && <SelectedBar selection={selection} shown={shown.length} />}
      {bulk && <BulkDialog filter={filter} onClose={() => setBulk(false)} />}
    </>
  );
}
