import { GeistMono } from "geist/font/mono";
import { GeistSans } from "geist/font/sans";
import type { Metadata, Viewport } from "next";
import { Providers } from "@/features/shell/providers";
import { Shell } from "@/features/shell/shell";
import { THEME_SCRIPT } from "@/lib/theme-script";
import "./globals.css";

// In the page itself: its address would otherwise have to know the prefix that the service is mounted under.
const ICON =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 20 20" fill="none" stroke="#0b6e72" stroke-width="2.4" stroke-linecap="round"><path d="M10 2a8 8 0 1 1-7.4 5"/><path d="M10 6v4l2.5 2.5"/></svg>';

export const metadata: Metadata = {
  icons: { icon: `data:image/svg+xml,${encodeURIComponent(ICON)}` },
  title: { default: "Kairos", template: "%s · Kairos" },
  description: "Jobs, machines and schedules, live.",
};
export const viewport: Viewport = {
  width: "device-width",
  initialScale: 1,
  themeColor: [
    { media: "(prefers-color-scheme: light)", color: "#fafafa" },
    { media: "(prefers-color-scheme: dark)", color: "#0b0b0d" },
  ],
};

export default function Layout({ children }: { children: React.ReactNode }) {
  return (
    <html lang="en" suppressHydrationWarning className={`${GeistSans.variable} ${GeistMono.variable}`}>
      <head>
        <script dangerouslySetInnerHTML={{ __html: THEME_SCRIPT }} />
      </head>
      <body>
        <Providers>
          <Shell>{children}</Shell>
        </Providers>
      </body>
    </html>
  );
}
