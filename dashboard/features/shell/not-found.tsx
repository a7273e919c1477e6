import { Empty } from "@/ui/answer";
import { Link } from "@/ui/link";

export function NotFound() {
  return (
    <Empty title="There is no such page.">
      <Link href="/" className="link">
        Go to the main view
      </Link>
    </Empty>
  );
}
