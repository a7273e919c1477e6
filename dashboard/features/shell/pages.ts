import type { IconName } from "@/ui/icon";

export const PAGES: readonly { href: string; name: string; icon: IconName; key: string; covers?: string }[] =
  [
    { href: "/", name: "Now", icon: "overview", key: "n" },
    { href: "/jobs/", name: "Jobs", icon: "jobs", key: "j", covers: "/job/" },
    { href: "/errors/", name: "Errors", icon: "errors", key: "x" },
    { href: "/schedules/", name: "Schedules", icon: "schedules", key: "s", covers: "/schedule/" },
    { href: "/machines/", name: "Machines", icon: "machines", key: "m", covers: "/machine/" },
    { href: "/lifecycle/", name: "Lifecycle", icon: "lifecycle", key: "l" },
    { href: "/queues/", name: "Queues", icon: "queues", key: "q", covers: "/queue/" },
    { href: "/workers/", name: "Workers", icon: "workers", key: "w", covers: "/worker/" },
    { href: "/alarms/", name: "Alarms", icon: "alarms", key: "a" },
    { href: "/settings/", name: "Settings", icon: "settings", key: "e" },
  ];
