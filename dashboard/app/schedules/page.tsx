import type { Metadata } from "next";
import { Suspense } from "react";
import { SchedulesPage } from "@/features/schedules/page";
import { Loading } from "@/ui/answer";

export const metadata: Metadata = { title: "Schedules" };

export default function Page() {
  return (
    <Suspense fallback={<Loading />}>
      <SchedulesPage />
    </Suspense>
  );
}
