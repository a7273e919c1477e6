"use client";

import { useEffect, useMemo, useRef } from "react";
import { jobsHref } from "@/lib/address";
import type { Stats } from "@/lib/documents";
import { countOf } from "@/lib/format";
import { grouped } from "@/lib/group-by";
import { type JobState, LOOKS, STATES, State, TERMINAL, TRANSITIONS } from "@/lib/lifecycle.gen";
import { useLive } from "@/lib/live-updates";
import { useWide } from "@/lib/window-width";
import { Diagram, type Edge } from "@/ui/diagram";
import { Glyph } from "@/ui/glyph";
import { Link } from "@/ui/link";
import { edgesOf } from "./passed";

const WIDTH = 124;
const HEIGHT = 56;
const NODES = STATES.map((id) => ({ id, width: WIDTH, height: HEIGHT }));
const ENDS = new Set<string>(TERMINAL);

/** The verbs between two states as one line; what leads out of an end happens inside a failure's commit. */
const EDGES: Edge[] = [...grouped(TRANSITIONS, (row) => `${row.from}>${row.to}`).values()].map((rows) => ({
  from: rows[0]!.from,
  to: rows[0]!.to,
  label: rows.map((row) => row.verb).join(", "),
  quiet: ENDS.has(rows[0]!.from),
}));

/** The living lifecycle: counts on its nodes, a pulse on an edge when jobs pass it, a click shows those jobs. */
export function LifecycleDiagram({ stats }: { stats: Stats | undefined }) {
  const across = useWide(1180);
  const { onPassed } = useLive();
  const lines = useRef(new Map<string, SVGPathElement>());

  useEffect(() => {
    return onPassed((passed) => {
      const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
      for (const { from, to, count } of edgesOf(passed)) {
        const line = lines.current.get(`${from}>${to}`);
        if (!line) continue;
        line.dataset.passed = String(Number(line.dataset.passed ?? 0) + count);
        if (line.getAnimations().length > 2) continue;
        line.animate(
          still
            ? [{ opacity: 0 }, { opacity: 0.5, strokeDasharray: "none" }, { opacity: 0 }]
            : [
                { opacity: 1, strokeDashoffset: 9 },
                { opacity: 1, strokeDashoffset: -92, offset: 0.9 },
                { opacity: 0, strokeDashoffset: -100 },
              ],
          { duration: 800, easing: "ease-in-out", delay: from === State.running ? 300 : 0 },
        ); // in before out
      }
    });
  }, [onPassed]);

  const overlay = useMemo(
    () => (edge: Edge, line: SVGPathElement | null) => {
      const name = `${edge.from}>${edge.to}`;
      if (line) lines.current.set(name, line);
      else lines.current.delete(name);
    },
    [],
  );

  return (
    <Diagram
      name="The lifecycle of a job"
      nodes={NODES}
      edges={EDGES}
      across={across}
      last={ENDS}
      overlay={overlay}
      draw={(id) => {
        const state = id as JobState;
        const shown = countOf(stats, state);
        const href = jobsHref({ state });
        return (
          <Link href={href}>
            <NodeBox state={state} some={!!stats?.states[state]} shown={shown} />
          </Link>
        );
      }}
    />
  );
}

function NodeBox({ state, some, shown }: { state: JobState; some: boolean; shown: string }) {
  const { tone, glyph } = LOOKS[state];
  const lively = state === State.running && some;
  return (
    <g className={`tone-${tone} group`} data-node={state}>
      <rect
        width={WIDTH}
        height={HEIGHT}
        rx={8}
        fill="var(--panel)"
        stroke={some ? "var(--tone)" : "var(--strong)"}
        strokeWidth={lively ? 1.6 : 1}
        className="transition-[fill] group-hover:fill-[var(--sunk)]"
      />
      <g transform="translate(12 10)" color="var(--tone)">
        <Glyph name={glyph} />
      </g>
      <text
        x={32}
        y={21}
        fontSize={12}
        fontWeight={500}
        fill="var(--tone)"
        textDecoration={tone === "grey" ? "line-through" : undefined}
      >
        {state}
      </text>
      <text
        x={12}
        y={45}
        fontSize={20}
        fontWeight={600}
        fill={some ? "var(--ink)" : "var(--muted)"}
        style={{ fontVariantNumeric: "tabular-nums" }}
      >
        {shown}
      </text>
    </g>
  );
}
