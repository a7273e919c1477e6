"""The report of a run: a verdict and counts, as Markdown and as JSON."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Report:
    """`missing` lists what happened too rarely; `notes` list the faults that are not possible here."""

    seed: int
    seconds: float
    violations: list[str]
    counts: Counter[str]
    missing: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def verdict(self) -> str:
        return "INVALID" if self.violations else "VACUOUS" if self.missing else "VALID"

    @property
    def exit_code(self) -> int:
        return {"VALID": 0, "INVALID": 1, "VACUOUS": 2}[self.verdict]

    def write(self, folder: Path) -> Path:
        """Write `chaos-report.json` and `chaos-report.md`; return the folder."""
        folder.mkdir(parents=True, exist_ok=True)
        document = {
            "verdict": self.verdict,
            "seed": self.seed,
            "seconds": self.seconds,
            "violations": self.violations,
            "missing": self.missing,
            "notes": self.notes,
            "counts": dict(sorted(self.counts.items())),
        }
        (folder / "chaos-report.json").write_text(json.dumps(document, indent=2) + "\n")
        (folder / "chaos-report.md").write_text("\n".join(self.lines()) + "\n")
        return folder

    def lines(self) -> list[str]:
        """Return the report as Markdown."""
        lines = [f"# Chaos: {self.verdict}", "", f"Seed {self.seed}, {self.seconds:.0f} seconds.", ""]
        for title, sentences in (
            ("Violations", self.violations),
            ("Too little of", self.missing),
            ("Notes", self.notes),
        ):
            if sentences:
                lines += [f"## {title}", "", *(f"- {each}" for each in sentences[:100]), ""]
        lines += ["## Counts", "", "| what | how often |", "|---|---|"]
        return lines + [f"| {name} | {n} |" for name, n in sorted(self.counts.items())]
