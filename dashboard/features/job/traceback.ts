// Split a Python traceback into frames of the user's own code, shown first, and frames of libraries.

export type TraceLine = { text: string; library: boolean };

const BEGINS = "Traceback (most recent call last):";
const FRAME = /^ {2}File "([^"]+)", line \d+/;
const LIBRARY =
  /[\\/](site-packages|dist-packages|lib[\\/]python3[^\\/]*)[\\/]|[\\/]kairos[\\/](worker|machine)[\\/]|^<frozen /;

/** The lines of a text; of a traceback the exception comes first, then own frames, then the others. */
export function traceLines(text: string): TraceLine[] {
  const lines = text.split("\n");
  const start = lines.indexOf(BEGINS);
  if (start < 0) return lines.map((each) => ({ text: each, library: false }));
  const before = lines.slice(0, start).map((each) => ({ text: each, library: false }));
  const { frames, rest } = framesOf(lines.slice(start + 1));
  const own = frames.filter((frame) => !frame.library);
  const others = frames.filter((frame) => frame.library);
  if (own.length === 0 || others.length === 0) return lines.map((each) => ({ text: each, library: false }));
  return [
    ...before,
    ...rest.map((each) => ({ text: each, library: false })),
    ...own.flatMap((frame) => frame.lines.map((each) => ({ text: each, library: false }))),
    {
      text: `  … and ${others.length} ${others.length === 1 ? "frame" : "frames"} of libraries:`,
      library: true,
    },
    ...others.flatMap((frame) => frame.lines.map((each) => ({ text: each, library: true }))),
  ];
}

function framesOf(lines: readonly string[]) {
  const frames: { lines: string[]; library: boolean }[] = [];
  let at = 0;
  for (; at < lines.length; at += 1) {
    const line = lines[at]!;
    const frame = FRAME.exec(line);
    if (frame) frames.push({ lines: [line], library: LIBRARY.test(frame[1]!) });
    else if (frames.length > 0 && line.startsWith("    ")) frames.at(-1)!.lines.push(line);
    else break;
  }
  return { frames, rest: lines.slice(at).filter((line) => line !== "") };
}
