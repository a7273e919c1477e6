import { expect, test } from "vitest";
import { pinnedRows } from "@/features/jobs/pinned-rows";
import type { Job } from "@/lib/documents";

const jobs = (...ids: number[]) => ids.map((id) => ({ id }) as Job);
const shown = (rows: { job: Job; gone: boolean }[]) =>
  rows.map((row) => `${row.job.id}${row.gone ? " gone" : ""}`);

test("a pinned list keeps its rows and their order when newer ones come", () => {
  expect(shown(pinnedRows(jobs(3, 2, 1), jobs(5, 4, 3, 2, 1), true))).toEqual(["3", "2", "1"]);
});

test("a row that no longer matches is said to be gone, one pushed off the page is not", () => {
  expect(shown(pinnedRows(jobs(3, 2, 1), jobs(5, 3, 2), true))).toEqual(["3", "2", "1"]);
  expect(shown(pinnedRows(jobs(3, 2, 1), jobs(3, 1), true))).toEqual(["3", "2 gone", "1"]);
});

test("a list that is not pinned shows what there is", () => {
  expect(shown(pinnedRows(jobs(1), jobs(2), false))).toEqual(["2"]);
});
