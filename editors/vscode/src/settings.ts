import { homedir } from "node:os";
import { accessSync, constants, statSync } from "node:fs";
import * as vscode from "vscode";
import { serverSettings } from "./serverSettings.ts";
import type { Surroundings } from "./server.ts";

/** The section of the settings of this extension. The server requests the same section. */
export const SECTION = "meshprobe";

/** Returns the settings for the server at its start. */
export function initialSettings(): Record<string, unknown> {
  return serverSettings(vscode.workspace.getConfiguration().get(SECTION));
}

/** Returns what the search for the server depends on, as it is now. */
export function surroundings(context: vscode.ExtensionContext): Surroundings {
  return {
    configured: vscode.workspace.getConfiguration(SECTION).get("server.path", ""),
    extensionFolder: context.extensionPath,
    workspaceFolder: vscode.workspace.workspaceFolders?.[0]?.uri.fsPath,
    home: homedir(),
    platform: process.platform,
    searchPath: process.env.PATH ?? "",
    isProgram,
  };
}

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}
