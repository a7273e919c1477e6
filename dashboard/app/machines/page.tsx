import type { Metadata } from "next";
import { Suspense } from "react";
import { MachinesPage } from "@/features/machines/page";
import { Loading } from "@/ui/answer";

export const metadata: Metadata = { title: "Machines" };

export default function Page() {
  return (
    <Suspense fallback={<Loading />}>
      <MachinesPage />
    </Suspense>
  );
}
