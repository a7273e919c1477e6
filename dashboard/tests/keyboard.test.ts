import { expect, test } from "vitest";
import { moved } from "@/lib/keyboard";

test("the cursor stays with its row when others come before it", () => {
  expect(moved(["b", "c"], "b", 1)).toBe("c");
  expect(moved(["a", "b", "c"], "b", 1)).toBe("c");
  expect(moved(["a", "b", "c"], "b", -1)).toBe("a");
});

test("the cursor stops at both ends", () => {
  expect(moved(["a", "b"], "b", 1)).toBe("b");
  expect(moved(["a", "b"], "a", -1)).toBe("a");
});

test("without a row it begins at the edge it comes from", () => {
  expect(moved(["a", "b"], null, 1)).toBe("a");
  expect(moved(["a", "b"], "gone", -1)).toBe("b");
  expect(moved([], null, 1)).toBeNull();
});
