import type { Metadata } from "next";
import { Suspense } from "react";
import { SignInPage } from "@/features/session/page";
import { Loading } from "@/ui/answer";

export const metadata: Metadata = { title: "Sign in" };

export default function Page() {
  return (
    <Suspense fallback={<Loading />}>
      <SignInPage />
    </Suspense>
  );
}
