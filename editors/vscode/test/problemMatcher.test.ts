import assert from "node:assert/strict";
import { test } from "node:test";
import { readFileSync } from "node:fs";

interface Pattern {
  regexp: string;
  file: number;
  line: number;
  column: number;
  severity: number;
  code: number;
  message: number;
}

const manifest = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")) as {
  contributes: { problemMatchers: { pattern: Pattern }[] };
};

/** The lines of a concise report; the summary starts with `Found`. The end-to-end test provides those of the program. */
const reportFile = process.env.MESHPROBE_CONCISE_REPORT;
const lines =
  reportFile === undefined
    ? ["apps/web dir/a.yaml:31:11: error[probe-broken] readinessProbe fails: a[b] c:1:2: x (in: prod)", "Found 1 error in 1 file."]
    : readFileSync(reportFile, "utf8").split("\n").filter((line) => line !== "");

test("the problem matcher reads every finding of a concise report, and not the summary", () => {
  const pattern = manifest.contributes.problemMatchers[0]?.pattern;
  assert.ok(pattern);
  const regexp = new RegExp(pattern.regexp);
  const end = lines.findIndex((line) => line.startsWith("Found "));
  assert.ok(end > 0);
  for (const line of lines.slice(end)) {
    assert.doesNotMatch(line, regexp);
  }
  for (const line of lines.slice(0, end)) {
    const groups = regexp.exec(line) ?? [];
    const part = (name: keyof Omit<Pattern, "regexp">): string => groups[pattern[name]] ?? "?";
    const position = [part("file"), part("line"), part("column")].join(":");
    assert.equal(`${position}: ${part("severity")}[${part("code")}] ${part("message")}`, line);
  }
});
