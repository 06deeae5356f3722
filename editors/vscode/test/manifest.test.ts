import assert from "node:assert/strict";
import { test } from "node:test";
import { isManifest } from "../src/manifest.ts";

test("a manifest has lines with apiVersion and kind, at any depth", () => {
  assert.ok(isManifest("apiVersion: v1\nkind: Pod\n"));
  assert.ok(isManifest("items:\n- apiVersion: v1\n  kind: Pod\n"));
  assert.ok(isManifest("{{ if .x }}\r\napiVersion : v1\r\nkind: Pod\r\n"));
});

test("other YAML is not a manifest", () => {
  assert.ok(!isManifest(""));
  assert.ok(!isManifest("services:\n  web:\n    image: x\n"));
  assert.ok(!isManifest("# apiVersion: v1\nkind: Pod\n"));
  assert.ok(!isManifest("text: apiVersion: kind:\n"));
});
