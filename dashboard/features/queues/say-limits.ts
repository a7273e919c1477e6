import type { Queue, Rate } from "@/lib/documents";
import { span } from "@/lib/time";

/** The limits of a queue, each as a phrase. */
export function sayLimits(queue: Queue): string[] {
  return [
    queue.concurrency !== null && `${queue.concurrency} at a time`,
    queue.rate && sayRate(queue.rate),
    queue.keyConcurrency !== null && `${queue.keyConcurrency} at a time per key`,
    queue.keyRate && `${sayRate(queue.keyRate)} per key`,
  ].filter((each) => typeof each === "string");
}

const sayRate = (rate: Rate) => `${rate.limit} in ${span(rate.seconds * 1000)}`;
