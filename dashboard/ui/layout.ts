import dagre from "@dagrejs/dagre";

export type Node = { id: string; width: number; height: number };
export type Link = { from: string; to: string; label: string };
export type Point = { x: number; y: number };
export type Placed = {
  width: number;
  height: number;
  nodes: Map<string, Point>;
  links: { from: string; to: string; label: string; path: string; at: Point }[];
};

/** Places nodes in layers and routes links between them; `last` names those that belong at the far end. */
export function layout(
  nodes: readonly Node[],
  links: readonly Link[],
  across: boolean,
  last: ReadonlySet<string> = new Set(),
): Placed {
  const graph = new dagre.graphlib.Graph();
  graph.setGraph({
    rankdir: across ? "LR" : "TB",
    nodesep: across ? 20 : 28,
    ranksep: across ? 64 : 44,
    edgesep: 14,
    marginx: 8,
    marginy: 8,
  });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const node of nodes) graph.setNode(node.id, { width: node.width, height: node.height });
  const depth = depths(nodes, links);
  const deepest = Math.max(0, ...[...depth].filter(([id]) => !last.has(id)).map(([, rank]) => rank)) + 1;
  for (const link of links) {
    if (link.from === link.to) continue;
    const far = last.has(link.to) ? Math.max(1, deepest - (depth.get(link.from) ?? 0)) : 1;
    graph.setEdge(link.from, link.to, {
      width: label(link.label),
      height: 16,
      labelpos: "c",
      minlen: far,
      weight: 1,
    });
  }
  dagre.layout(graph);
  const size = graph.graph() as { width: number; height: number };
  const place = (id: string) => graph.node(id) as Point & Node;
  // The layout knows nothing of the loops above nodes: one above the topmost node needs room.
  const loops = links.filter((link) => link.from === link.to).map((link) => place(link.from));
  const room = Math.max(0, ...loops.map(({ y, height }) => LOOP - (y - height / 2)));
  const down = <P extends Point>(point: P): P => ({ ...point, y: point.y + room });
  return {
    width: size.width,
    height: size.height + room,
    nodes: new Map(nodes.map(({ id }) => [id, down(place(id))])),
    links: links.map((link) => {
      if (link.from === link.to) return { ...link, ...loop(down(place(link.from))) };
      const edge = graph.edge(link.from, link.to) as { points: Point[]; x?: number; y?: number };
      return {
        ...link,
        path: curve(edge.points.map(down)),
        at: down({ x: edge.x ?? 0, y: edge.y ?? 0 }),
      };
    }),
  };
}

// How far a loop and its label rise above their node.
const LOOP = 34;

const label = (text: string) =>
  text ? Math.max(...text.split("\n").map((line) => line.length)) * 7.2 + 8 : 0;

/** How far each node is from a start, over links that do not lead back. */
function depths(nodes: readonly Node[], links: readonly Link[]): Map<string, number> {
  const depth = new Map<string, number>();
  const visit = (id: string, rank: number, above: ReadonlySet<string>) => {
    if (above.has(id) || (depth.get(id) ?? -1) >= rank) return;
    depth.set(id, rank);
    const path = new Set(above).add(id);
    links.filter((link) => link.from === id).forEach((link) => visit(link.to, rank + 1, path));
  };
  nodes.forEach(({ id }) => depth.has(id) || visit(id, 0, new Set()));
  return depth;
}

/** A smooth line through the points: quadratic pieces that meet half-way between them. */
function curve(points: readonly Point[]): string {
  const [first, ...rest] = points;
  if (!first || rest.length === 0) return "";
  let path = `M${round(first)}`;
  for (let index = 0; index < rest.length - 1; index += 1) {
    const [here, next] = [rest[index]!, rest[index + 1]!];
    path += ` Q${round(here)} ${round({ x: (here.x + next.x) / 2, y: (here.y + next.y) / 2 })}`;
  }
  return `${path} L${round(rest.at(-1)!)}`;
}

function loop({ x, y, width, height }: Point & Node) {
  const [right, top] = [x + width / 2, y - height / 2];
  return { path: `M${right - 26} ${top} c0 -26 22 -26 22 0`, at: { x: right - 15, y: top - 24 } };
}

const round = ({ x, y }: Point) => `${Math.round(x * 10) / 10} ${Math.round(y * 10) / 10}`;
