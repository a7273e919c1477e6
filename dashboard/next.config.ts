import type { NextConfig } from "next";

const config: NextConfig = {
  output: "export",
  trailingSlash: true,
  // A fixed id makes two builds of the same source byte for byte the same.
  generateBuildId: () => "kairos",
  images: { unoptimized: true },
  reactStrictMode: true,
  devIndicators: false,
  poweredByHeader: false,
};

export default config;
