import { expect, test } from "vitest";
import { layout } from "@/ui/layout";

const NODES = ["first", "second"].map((id) => ({ id, width: 100, height: 40 }));

test.each([true, false])("a loop above the topmost node is inside the drawing (across: %s)", (across) => {
  const links = [
    { from: "first", to: "second", label: "go" },
    { from: "first", to: "first", label: "again" },
  ];
  const placed = layout(NODES, links, across);
  const loop = placed.links[1]!;
  expect(loop.at.y - 8).toBeGreaterThanOrEqual(0);
  const [, , top] = /^M([\d.]+) ([\d.]+) c/.exec(loop.path)!;
  expect(Number(top) - 20).toBeGreaterThanOrEqual(0);
  const lowest = Math.max(...[...placed.nodes.values()].map(({ y }) => y + 20));
  expect(lowest).toBeLessThanOrEqual(placed.height);
});
