import {
  Bell,
  Calendar,
  ChartColumn,
  ChevronDown,
  ChevronLeft,
  ChevronRight,
  CircleAlert,
  CircleHelp,
  Copy,
  Download,
  List,
  LogOut,
  Maximize2,
  Menu,
  Monitor,
  Moon,
  Plus,
  RefreshCw,
  Rows3,
  Search,
  SlidersHorizontal,
  Sun,
  TriangleAlert,
  Workflow,
  WrapText,
  X,
} from "lucide-react";

const ICONS = {
  overview: ChartColumn,
  jobs: List,
  errors: CircleAlert,
  schedules: Calendar,
  machines: Workflow,
  lifecycle: RefreshCw,
  queues: Rows3,
  workers: Monitor,
  alarms: Bell,
  settings: SlidersHorizontal,
  search: Search,
  sun: Sun,
  moon: Moon,
  menu: Menu,
  close: X,
  plus: Plus,
  right: ChevronRight,
  left: ChevronLeft,
  down: ChevronDown,
  copy: Copy,
  download: Download,
  wrap: WrapText,
  grow: Maximize2,
  warning: TriangleAlert,
  out: LogOut,
  help: CircleHelp,
} as const;

export type IconName = keyof typeof ICONS;

export function Icon({ name, size = 16 }: { name: IconName; size?: number }) {
  const Drawn = ICONS[name];
  return <Drawn size={size} strokeWidth={1.75} aria-hidden="true" className="shrink-0" />;
}
