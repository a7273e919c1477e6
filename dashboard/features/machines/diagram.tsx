"use client";

import { useMemo } from "react";
import type { Diagram as Drawn } from "@/lib/documents";
import { grouped } from "@/lib/group-by";
import { type JobState, LOOKS } from "@/lib/lifecycle.gen";
import { visibleLine } from "@/lib/visible-text";
import { useWide } from "@/lib/window-width";
import { Diagram, type Edge } from "@/ui/diagram";
import { Glyph } from "@/ui/glyph";

const HEIGHT = 36;

/** What has happened so far: the steps in the order they were entered, and where the job is now. */
export type Path = { steps: readonly string[]; current: string; state: JobState };

/** A machine's steps; with a job's path, the current step is lit and the way taken is drawn strong. */
export function MachineDiagram({ diagram, path }: { diagram: Drawn; path?: Path }) {
  const roomy = useWide(900);
  const across = roomy && !path && diagram.states.length <= 6;
  const nodes = useMemo(
    () =>
      diagram.states.map((id) => ({
        id,
        width: Math.min(240, Math.max(88, id.length * 7.6 + 44)),
        height: HEIGHT,
      })),
    [diagram],
  );
  const taken = useMemo(
    () => new Set(path?.steps.slice(1).map((step, index) => `${path.steps[index]}>${step}`)),
    [path],
  );
  const edges = useMemo<Edge[]>(() => {
    const known = new Set(diagram.states);
    const rows = diagram.transitions.filter((row) => known.has(row.from) && known.has(row.to));
    return [...grouped(rows, (row) => `${row.from}>${row.to}`).entries()].map(([name, [row]]) => ({
      from: row!.from,
      to: row!.to,
      label: "",
      strong: taken.has(name),
    }));
  }, [diagram, taken]);
  const visited = new Set(path?.steps);

  return (
    <Diagram
      name={`The steps of ${diagram.name}`}
      nodes={nodes}
      edges={edges}
      across={across}
      draw={(id) => {
        const lit = path?.current === id;
        const been = visited.has(id);
        const width = nodes.find((node) => node.id === id)!.width;
        const look = lit ? LOOKS[path.state] : null;
        return (
          <g className={look ? `tone-${look.tone}` : ""} data-step={id} data-lit={lit} data-visited={been}>
            <title>
              {id}
              {lit ? ` (${path.state})` : been ? " (passed)" : ""}
            </title>
            <rect
              width={width}
              height={HEIGHT}
              rx={6}
              fill={lit ? "color-mix(in srgb, var(--tone) 14%, var(--panel))" : "var(--panel)"}
              stroke={lit ? "var(--tone)" : been ? "var(--ink)" : "var(--strong)"}
              strokeWidth={lit ? 2 : 1}
            />
            {look && (
              <g transform="translate(10 11)" color="var(--tone)">
                <Glyph name={look.glyph} />
              </g>
            )}
            <text
              x={look ? width / 2 + 8 : width / 2}
              y={HEIGHT / 2}
              textAnchor="middle"
              dominantBaseline="central"
              fontSize={13}
              fontWeight={lit ? 600 : 500}
              fill={lit ? "var(--tone)" : path && !been ? "var(--muted)" : "var(--ink)"}
            >
              {cut(visibleLine(id))}
            </text>
            {diagram.initial.includes(id) && <circle cx={0} cy={HEIGHT / 2} r={3.5} fill="var(--ink)" />}
          </g>
        );
      }}
    />
  );
}

const cut = (name: string) => (name.length > 25 ? `${name.slice(0, 24)}…` : name);
