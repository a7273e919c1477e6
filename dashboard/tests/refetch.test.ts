import { QueryClient, QueryObserver } from "@tanstack/react-query";
import { expect, test } from "vitest";
import { readAgain } from "@/lib/refetch";

test("an answer that was being read when something changed is read once more", async () => {
  const client = new QueryClient();
  const answers: ((value: number) => void)[] = [];
  const observer = new QueryObserver(client, {
    queryKey: ["stats"],
    queryFn: () => new Promise<number>((resolve) => answers.push(resolve)),
  });
  const stop = observer.subscribe(() => {});
  const settled = () => new Promise((resolve) => setTimeout(resolve));
  expect(answers).toHaveLength(1);
  readAgain(client, () => true);
  readAgain(client, () => true);
  expect(answers).toHaveLength(1); // it is not cut off
  answers[0]!(1);
  await settled();
  expect(answers).toHaveLength(2);
  answers[1]!(2);
  await settled();
  expect(answers).toHaveLength(2);
  expect(client.getQueryData(["stats"])).toBe(2);
  readAgain(client, () => true);
  expect(answers).toHaveLength(3);
  stop();
});
