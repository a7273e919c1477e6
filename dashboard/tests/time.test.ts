import { afterEach, expect, test, vi } from "vitest";
import { exact, instant, learnClock, local, now, relative, span } from "@/lib/time";

afterEach(() => {
  vi.useRealTimers();
  learnClock(new Date().toUTCString());
});

test.each([
  [0, "<1 ms"],
  [421, "421 ms"],
  [1500, "1.5 s"],
  [24_000, "24 s"],
  [200_000, "3 min 20 s"],
  [1_260_000, "21 min"],
  [5_400_000, "1 h 30 min"],
  [171_600_000, "1 d 23 h"],
  [172_800_000, "2 d"],
  [950_000_000, "10 d"],
])("%i milliseconds are %s", (ms, text) => {
  expect(span(ms)).toBe(text);
});

test("a time is shown relative to now", () => {
  const from = Date.parse("2026-01-02T03:04:05Z");
  expect(relative("2026-01-02T03:04:00Z", from)).toBe("5.0 s ago");
  expect(relative("2026-01-02T05:04:05Z", from)).toBe("in 2 h");
  expect(relative("2026-01-02T03:04:05.200Z", from)).toBe("now");
});

test("ages follow the service's clock where the browser's is wrong", () => {
  vi.useFakeTimers({ now: Date.parse("2026-01-02T00:00:00Z") });
  learnClock("Fri, 02 Jan 2026 01:00:00 GMT");
  expect(now()).toBe(Date.parse("2026-01-02T01:00:00Z"));
});

test("a field for local time gives back the instant it shows", () => {
  expect(instant(local("2026-07-01T12:00:00Z"))).toBe("2026-07-01T12:00:00.000Z");
  expect(instant("no time")).toBe("no time");
});

test("an exact time names its zone", () => {
  expect(exact("2026-07-01T12:00:00Z", "Europe/London")).toContain("13:00:00");
});
