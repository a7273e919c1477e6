import { expect, test } from "vitest";
import { countAxis, exactSpan, timeAxis } from "@/lib/axes";

const labels = (axis: { ticks: { label: string }[] }) => axis.ticks.map((tick) => tick.label);

test("the labels of a time axis say exactly where their lines stand", () => {
  for (const highest of [1, 7, 90, 1234, 59_000, 200_000, 3_700_000, 90_000_000, 1e10]) {
    const { ticks, ceiling } = timeAxis(highest);
    expect(ceiling).toBeGreaterThanOrEqual(highest);
    for (const { value, label } of ticks) expect(label).toBe(exactSpan(value));
  }
});

test("two hundred seconds are marked by whole minutes", () => {
  expect(labels(timeAxis(200_000))).toEqual(["0", "1 min", "2 min", "3 min", "4 min"]);
});

test("nothing yet has an axis all the same", () => {
  expect(timeAxis(0).ceiling).toBeGreaterThan(0);
  expect(labels(countAxis(0))).toEqual(["0", "1"]);
});

test("counts are marked by whole numbers", () => {
  expect(labels(countAxis(3))).toEqual(["0", "1", "2", "3"]);
  expect(labels(countAxis(1700))).toEqual(["0", "500", "1,000", "1,500", "2,000"]);
});

test("a length of time is said without rounding", () => {
  expect(exactSpan(100_000)).toBe("1 min 40 s");
  expect(exactSpan(1500)).toBe("1.5 s");
});
