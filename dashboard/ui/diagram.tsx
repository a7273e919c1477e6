"use client";

import { useMemo } from "react";
import { type Link, layout, type Node } from "./layout";

export type Edge = Link & { strong?: boolean; quiet?: boolean };

type Props = {
  name: string;
  nodes: readonly Node[];
  edges: readonly Edge[];
  across: boolean;
  last?: ReadonlySet<string>;
  draw: (id: string) => React.ReactNode;
  /** Called with the line drawn over each edge, for those who animate it. */
  overlay?: (edge: Edge, line: SVGPathElement | null) => void;
};

const ARROWS = [
  { id: "arrow", stroke: "var(--muted)", strokeWidth: 1.3 },
  { id: "arrow-strong", stroke: "var(--ink)", strokeWidth: 1.6 },
];

/** A graph, laid out by itself. It keeps its natural size and scrolls where it does not fit. */
export function Diagram({ name, nodes, edges, across, last, draw, overlay }: Props) {
  const placed = useMemo(() => layout(nodes, edges, across, last), [nodes, edges, across, last]);
  const { width, height } = placed;
  return (
    <div className="overflow-x-auto" tabIndex={0} role="group" aria-label={name}>
      <svg
        viewBox={`0 0 ${width} ${height}`}
        className="mx-auto block h-auto"
        style={{ width: Math.round(width), minWidth: Math.round(width * 0.72), maxWidth: "100%" }}
      >
        <defs>
          {ARROWS.map(({ id, stroke, strokeWidth }) => (
            <marker
              key={id}
              id={id}
              viewBox="0 0 8 8"
              refX="7"
              refY="4"
              markerWidth="7"
              markerHeight="7"
              orient="auto-start-reverse"
            >
              <path d="M1 1 7 4 1 7" fill="none" stroke={stroke} strokeWidth={strokeWidth} />
            </marker>
          ))}
        </defs>
        {placed.links.map((link, index) => {
          const edge = edges[index]!;
          return (
            <g key={`${link.from}>${link.to}`}>
              <path
                d={link.path}
                fill="none"
                stroke={edge.strong ? "var(--ink)" : "var(--strong)"}
                strokeWidth={edge.strong ? 1.8 : 1}
                strokeDasharray={edge.quiet ? "3 3" : undefined}
                markerEnd={`url(#${edge.strong ? "arrow-strong" : "arrow"})`}
              />
              {overlay && (
                <path
                  ref={(line) => overlay(edge, line)}
                  data-edge={`${link.from}>${link.to}`}
                  d={link.path}
                  pathLength={100}
                  fill="none"
                  stroke="var(--blue)"
                  strokeWidth={2.5}
                  strokeDasharray="8 100"
                  strokeDashoffset={9}
                  strokeLinecap="round"
                  opacity={0}
                />
              )}
            </g>
          );
        })}
        {placed.links.map(
          (link, index) =>
            link.label && (
              <text
                key={`${link.from}>${link.to}`}
                x={link.at.x}
                y={link.at.y}
                textAnchor="middle"
                dominantBaseline="central"
                fontSize={12}
                fontFamily="var(--font-mono)"
                fill={edges[index]!.strong ? "var(--ink)" : "var(--muted)"}
                stroke="var(--panel)"
                strokeWidth={4}
                paintOrder="stroke"
              >
                {link.label}
              </text>
            ),
        )}
        {nodes.map((node) => {
          const { x, y } = placed.nodes.get(node.id)!;
          return (
            <g
              key={node.id}
              transform={`translate(${Math.round(x - node.width / 2)} ${Math.round(y - node.height / 2)})`}
            >
              {draw(node.id)}
            </g>
          );
        })}
      </svg>
    </div>
  );
}
