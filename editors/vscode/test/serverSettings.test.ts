import assert from "node:assert/strict";
import { test } from "node:test";
import { serverSettings } from "../src/serverSettings.ts";

test("the server receives its settings without those of the extension", () => {
  const section = { server: { path: "/x" }, trace: { server: "off" }, meshVersion: "1.26", assume: ["injection=all"] };
  assert.deepEqual(serverSettings(section), { meshVersion: "1.26", assume: ["injection=all"] });
});

test("a missing section has no settings", () => {
  assert.deepEqual(serverSettings(undefined), {});
  assert.deepEqual(serverSettings(null), {});
});
