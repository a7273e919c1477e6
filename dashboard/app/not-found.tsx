import Link from "next/link";
import { Empty } from "@/ui/answer";

export default function NotFound() {
  return (
    <Empty title="There is no such page.">
      <Link href="/" className="link">Go to what happens now</Link>
    </Empty>
  );
}
