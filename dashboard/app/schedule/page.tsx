import type { Metadata } from "next";
import { Suspense } from "react";
import { SchedulePage } from "@/features/schedules/detail";
import { Loading } from "@/ui/answer";

export const metadata: Metadata = { title: "Schedule" };

export default function Page() {
  return (
    <Suspense fallback={<Loading />}>
      <SchedulePage />
    </Suspense>
  );
}
