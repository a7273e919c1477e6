"use client";

import Link from "next/link";
import { useAddress } from "@/lib/address";
import type { Change, Job } from "@/lib/documents";
import { LOOKS, State } from "@/lib/lifecycle.gen";
import { MachineDiagram } from "@/features/machines/diagram";
import { Answer, Empty } from "@/ui/answer";
import { JsonText, Text } from "@/ui/code";
import { Glyph } from "@/ui/glyph";
import { More } from "@/ui/more";
import { PageTitle, Panel } from "@/ui/panel";
import { StateMark, isTerminal } from "@/ui/state";
import { Time } from "@/ui/time";
import { Actions } from "./actions";
import { JobFacts } from "./facts";
import { Log } from "./log";
import { Signals } from "./signals";
import { Timeline } from "./timeline";
import { useJob } from "./use-job";

export function JobPage() {
  const id = useAddress().params.get("id") ?? "";
  const { job, history, signals, diagram, log, stream } = useJob(id);
  if (!/^\d+$/.test(id)) return <Empty title="Which job?"><Link href="/jobs/" className="link">Look for it among all jobs</Link></Empty>;
  return (
    <Answer query={job} rows={8}>
      {({ job: one }) => (
        <>
          <PageTitle above={<><Link prefetch={false} href="/jobs/" className="link">Jobs</Link> / {one.id}</>}
            title={<span className="flex flex-wrap items-center gap-3"><span className="min-w-0 break-all">{one.action}</span><StateMark state={one.state} boxed /></span>}>
            <Actions job={one} />
          </PageTitle>
          <div className="grid items-start gap-6 xl:grid-cols-[minmax(0,1fr)_400px]">
            <div className="flex min-w-0 flex-col gap-6">
              <End job={one} />
              <Panel title="Log" flush><Log store={log} state={stream} idle={<Idle job={one} done={stream === "ended"} />} /></Panel>
              <Panel title="Timeline" flush><Answer query={history.query}>{(data) => <Timeline history={data.history} job={one} />}</Answer><More list={history} /></Panel>
            </div>
            <div className="flex min-w-0 flex-col gap-6">
              <Panel title="Job"><JobFacts job={one} /></Panel>
              {diagram.data && diagram.data.diagram.states.length > 1 && (
                <Panel title="Machine" aside={<Link prefetch={false} className="link" href={`/machine/?name=${encodeURIComponent(one.action)}`}>{one.action}</Link>}>
                  <MachineDiagram diagram={diagram.data.diagram} path={{ steps: stepsOf(history.query.data?.history ?? [], one), current: one.step, state: one.state }} />
                </Panel>
              )}
              <Panel title="Input"><JsonText value={one.input} label="Input" /></Panel>
              <Signals job={one} list={signals} />
            </div>
          </div>
        </>
      )}
    </Answer>
  );
}

/** How it ended, or how far it is. */
function End({ job }: { job: Job }) {
  if (job.error) return <Panel title="Error" aside={job.error.code ?? undefined} className="tone-red"><Text text={job.error.message} label="Error" /></Panel>;
  if (job.state === State.success) return <Panel title="Output"><JsonText value={job.output} label="Output" /></Panel>;
  if (!job.progress) return null;
  const { done, total } = job.progress;
  return (
    <Panel title="Progress" aside={`${done} of ${total}`}>
      <progress className="w-full" aria-label="Progress" value={Number(done)} max={Math.max(1, Number(total))} />
    </Panel>
  );
}

function Idle({ job, done }: { job: Job; done: boolean }) {
  if (done || isTerminal(job.state)) return "This job wrote nothing.";
  const { tone, glyph } = job.state === State.pending ? LOOKS[State.running] : LOOKS[job.state];
  return <span className={`tone tone-${tone} flex items-center gap-2 px-4 text-center`}><Glyph name={glyph} /><span>{idle(job)}</span></span>;
}

function idle(job: Job): React.ReactNode {
  if (job.state === State.scheduled) return <>It is due <Time at={job.runAt} />.</>;
  if (job.state === State.pending) return "Waiting for a worker to take it.";
  return job.awaits.length > 0 ? `It waits for ${job.awaits.join(" or ")}.` : "Nothing written yet.";
}

/** The steps in the order they were entered, each move once. */
function stepsOf(history: readonly Change[], job: Job): string[] {
  const steps = [...history].sort((a, b) => Number(a.id) - Number(b.id)).map((change) => change.step).concat(job.step);
  return steps.filter((step, index) => step && step !== steps[index - 1]);
}
