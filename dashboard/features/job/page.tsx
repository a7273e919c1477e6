"use client";

import { useState } from "react";
import { jobHref, machineHref, useAddress } from "@/lib/address";
import type { Change, Job, Progress } from "@/lib/documents";
import { State } from "@/lib/lifecycle.gen";
import { visibleLine } from "@/lib/visible-text";
import { useWide } from "@/lib/window-width";
import { Answer, Which } from "@/ui/answer";
import { JsonText, Text } from "@/ui/code";
import { later } from "@/ui/later";
import { Link } from "@/ui/link";
import { More } from "@/ui/more";
import { PageTitle, Panel, Up } from "@/ui/panel";
import { isTerminal, StateMark } from "@/ui/state";
import { Actions } from "./actions";
import { JobFacts } from "./facts";
import { Idle } from "./idle";
import { Log } from "./log";
import { SameError } from "./same-error";
import { Signals } from "./signals";
import { StatePanel } from "./state-panel";
import { Timeline } from "./timeline";
import { useJob } from "./use-job";
import { bySequence } from "./waterfall";
import { type Attempt, Waterfall } from "./waterfall-view";

const MachineDiagram = later(() => import("@/features/machines/diagram").then((it) => it.MachineDiagram));

const TWO_COLUMNS = 1280;
const COLUMN = "flex min-w-0 flex-col gap-4";
const BESIDE = "grid items-start gap-4 grid-cols-[repeat(auto-fit,minmax(min(300px,100%),1fr))]";

export function JobPage() {
  const id = useAddress().params.get("id") ?? "";
  const { job, history, signals, diagram, children, log, stream, progress } = useJob(id);
  const [attempt, setAttempt] = useState<Attempt | null>(null);
  const [verbs, setVerbs] = useState(false);
  const wide = useWide(TWO_COLUMNS);
  if (!/^\d+$/.test(id)) return <Which noun="job" />;
  const changes = history.query.data?.history ?? [];
  return (
    <Answer query={job} rows={8}>
      {({ job: one }) => {
        const course = (
          <>
            <End job={one} progress={progress} />
            <Panel
              title="Timeline"
              flush
              aside={
                <button
                  type="button"
                  className="button button-small"
                  aria-pressed={verbs}
                  onClick={() => setVerbs(!verbs)}
                >
                  {verbs ? "Show the waterfall" : "Show every change"}
                </button>
              }
            >
              <Answer query={history.query}>
                {(data) =>
                  verbs ? (
                    <Timeline history={data.history} job={one} />
                  ) : (
                    <Waterfall
                      job={one}
                      history={data.history}
                      family={children}
                      chosen={attempt}
                      choose={setAttempt}
                    />
                  )
                }
              </Answer>
              <More list={history} />
            </Panel>
          </>
        );
        const lines = (
          <Panel title="Log" flush>
            <Log
              store={log}
              state={stream}
              idle={<Idle job={one} done={stream === "ended"} />}
              name={`job-${one.id}.log`}
              attempt={attempt}
              choose={setAttempt}
            />
          </Panel>
        );
        const known = (
          <>
            <Panel title="Input">
              <JsonText value={one.input} label="Input" />
            </Panel>
            <StatePanel job={one} history={changes} />
            <Signals job={one} list={signals} />
          </>
        );
        const facts = (
          <>
            <Panel title="Job">
              <JobFacts job={one} history={changes} family={children} />
            </Panel>
            {diagram.data && diagram.data.diagram.states.length > 1 && (
              <Panel
                title="Machine"
                aside={
                  <Link className="link" href={machineHref(one.action)}>
                    {visibleLine(one.action)}
                  </Link>
                }
              >
                <MachineDiagram
                  diagram={diagram.data.diagram}
                  path={{ steps: stepsOf(changes, one), current: one.step, state: one.state }}
                />
              </Panel>
            )}
          </>
        );
        return (
          <>
            <Title job={one} />
            {wide ? (
              <div className="grid grid-cols-[minmax(0,1fr)_400px] items-start gap-4">
                <div className={COLUMN}>
                  {course}
                  {lines}
                </div>
                <div className={COLUMN}>
                  {known}
                  {facts}
                </div>
              </div>
            ) : (
              <div className={COLUMN}>
                {course}
                <div className={BESIDE}>{known}</div>
                {lines}
                <div className={BESIDE}>{facts}</div>
              </div>
            )}
          </>
        );
      }}
    </Answer>
  );
}

function Title({ job }: { job: Job }) {
  return (
    <PageTitle
      tab={`${job.action} ${job.id} ${job.state}`}
      above={
        <>
          <Up to="/jobs/">Jobs</Up> /{" "}
          {job.parent != null && (
            <>
              <Link href={jobHref(job.parent)} className="link">
                {job.parent}
              </Link>{" "}
              /{" "}
            </>
          )}
          {job.id}
        </>
      }
      title={
        <span className="flex flex-wrap items-center gap-3">
          <span className="min-w-0 break-all">{visibleLine(job.action)}</span>
          <StateMark state={job.state} boxed />
        </span>
      }
    >
      <Actions job={job} />
    </PageTitle>
  );
}

/** How it ended, or how far it is. */
function End({ job, progress }: { job: Job; progress: Progress | null }) {
  if (job.error) {
    return (
      <Panel title="Error" aside={<SameError job={job} />} className="tone-red">
        <Text text={job.error.message} label="Error" />
      </Panel>
    );
  }
  if (job.state === State.success) {
    return (
      <Panel title="Output">
        <JsonText value={job.output} label="Output" />
      </Panel>
    );
  }
  if (!progress || isTerminal(job.state)) return null;
  return (
    <Panel title="Progress" aside={`${progress.done} of ${progress.total}`}>
      <progress
        className="w-full"
        aria-label="Progress"
        value={Number(progress.done)}
        max={Math.max(1, Number(progress.total))}
      />
    </Panel>
  );
}

/** The steps in the order they were entered, each move once. */
function stepsOf(history: readonly Change[], job: Job): string[] {
  const steps = bySequence(history)
    .map((change) => change.step)
    .concat(job.step);
  return steps.filter((step, index) => step && step !== steps[index - 1]);
}
