"use client";

import { useState } from "react";
import { machineHref, useAddress } from "@/lib/address";
import type { Change, Job, Progress } from "@/lib/documents";
import { State } from "@/lib/lifecycle.gen";
import { visibleLine } from "@/lib/visible-text";
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

export function JobPage() {
  const id = useAddress().params.get("id") ?? "";
  const { job, history, signals, diagram, children, log, stream, progress } = useJob(id);
  const [attempt, setAttempt] = useState<Attempt | null>(null);
  const [verbs, setVerbs] = useState(false);
  if (!/^\d+$/.test(id)) return <Which noun="job" />;
  const changes = history.query.data?.history ?? [];
  return (
    <Answer query={job} rows={8}>
      {({ job: one }) => (
        <>
          <PageTitle
            tab={`${one.action} ${one.id} ${one.state}`}
            above={
              <>
                <Up to="/jobs/">Jobs</Up> /{" "}
                {one.parent != null && (
                  <>
                    <Link href={`/job/?id=${one.parent}`} className="link">
                      {one.parent}
                    </Link>{" "}
                    /{" "}
                  </>
                )}
                {one.id}
              </>
            }
            title={
              <span className="flex flex-wrap items-center gap-3">
                <span className="min-w-0 break-all">{visibleLine(one.action)}</span>
                <StateMark state={one.state} boxed />
              </span>
            }
          >
            <Actions job={one} />
          </PageTitle>
          <div className="grid items-start gap-4 xl:grid-cols-[minmax(0,1fr)_400px]">
            <div className="flex min-w-0 flex-col gap-4">
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
            </div>
            <div className="flex min-w-0 flex-col gap-4">
              <Panel title="Input">
                <JsonText value={one.input} label="Input" />
              </Panel>
              <StatePanel job={one} history={changes} />
              <Signals job={one} list={signals} />
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
            </div>
          </div>
        </>
      )}
    </Answer>
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
