import assert from "node:assert/strict";
import { test } from "node:test";
import { findServer, type Surroundings } from "../src/server.ts";

function surroundings(programs: string[], other: Partial<Surroundings> = {}): Surroundings {
  return {
    configured: "",
    extensionFolder: "/ext",
    workspaceFolder: "/project",
    home: "/home/me",
    platform: "linux",
    searchPath: "/usr/bin:/opt/bin",
    isProgram: (file) => programs.includes(file),
    ...other,
  };
}

const all = ["/set/meshprobe", "/ext/server/meshprobe", "/opt/bin/meshprobe"];

test("the setting takes precedence over the bundled program and PATH", () => {
  const found = findServer(surroundings(all, { configured: "/set/meshprobe" }));
  assert.deepEqual(found, { program: "/set/meshprobe", origin: "setting" });
});

test("the bundled program takes precedence over PATH", () => {
  assert.deepEqual(findServer(surroundings(all)), { program: "/ext/server/meshprobe", origin: "bundled" });
});

test("the first program on PATH is used", () => {
  const found = findServer(surroundings(["/opt/bin/meshprobe", "/usr/bin/other"]));
  assert.deepEqual(found, { program: "/opt/bin/meshprobe", origin: "PATH" });
});

test("a setting that names a missing program is a problem, even if another program exists", () => {
  const found = findServer(surroundings(all, { configured: "/missing/meshprobe" }));
  assert.equal(found.program, undefined);
  assert.match("problem" in found ? found.problem : "", /`\/missing\/meshprobe`/);
});

test("without a program, the problem names the setting", () => {
  const found = findServer(surroundings([]));
  assert.match("problem" in found ? found.problem : "", /meshprobe\.server\.path/);
});

for (const [configured, program] of [
  ["~/bin/meshprobe", "/home/me/bin/meshprobe"],
  ["${workspaceFolder}/bin/meshprobe", "/project/bin/meshprobe"],
  ["bin/meshprobe", "/project/bin/meshprobe"],
  [" /set/meshprobe ", "/set/meshprobe"],
  ["~user/meshprobe", "/project/~user/meshprobe"],
] as const) {
  test(`the setting \`${configured}\` names ${program}`, () => {
    const found = findServer(surroundings([program], { configured }));
    assert.deepEqual(found, { program, origin: "setting" });
  });
}

test("relative and empty folders of PATH are skipped", () => {
  const found = findServer(surroundings(["meshprobe", "bin/meshprobe", "./meshprobe"], { searchPath: ":bin:." }));
  assert.equal(found.program, undefined);
});

test("on Windows, the program has the suffix .exe and PATH is separated by semicolons", () => {
  const windows: Partial<Surroundings> = {
    platform: "win32",
    extensionFolder: "C:\\ext",
    searchPath: "C:\\a;C:\\b",
  };
  const bundled = findServer(surroundings(["C:\\ext\\server\\meshprobe.exe", "C:\\b\\meshprobe.exe"], windows));
  assert.deepEqual(bundled, { program: "C:\\ext\\server\\meshprobe.exe", origin: "bundled" });
  const onPath = findServer(surroundings(["C:\\b\\meshprobe.exe"], windows));
  assert.deepEqual(onPath, { program: "C:\\b\\meshprobe.exe", origin: "PATH" });
});
