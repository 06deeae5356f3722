// Finds the meshprobe program. Does not depend on the API of VS Code, so that Node can test it.

import * as path from "node:path";

/** What the search depends on. */
export interface Surroundings {
  /** The setting `meshprobe.server.path`; empty if it is not set. */
  configured: string;
  /** The folder of the extension, which contains the bundled program in `server/`. */
  extensionFolder: string;
  /** The first folder of the workspace, if there is one. */
  workspaceFolder: string | undefined;
  home: string;
  platform: NodeJS.Platform;
  /** The variable `PATH`; empty if it is not set. */
  searchPath: string;
  /** Returns whether a path names a file that can be run. */
  isProgram: (file: string) => boolean;
}

/** The program that was found, or the reason why there is none. */
export type FoundServer =
  | { program: string; origin: "setting" | "bundled" | "PATH" }
  | { program: undefined; problem: string };

/**
 * Returns the program of the setting if there is one, or else the bundled program, or else the one on `PATH`.
 * A setting that names a missing program is a problem: another program would hide the mistake.
 */
export function findServer(surroundings: Surroundings): FoundServer {
  const { configured, extensionFolder, isProgram } = surroundings;
  const paths = pathModule(surroundings);
  if (configured.trim() !== "") {
    const program = expand(configured.trim(), surroundings);
    return isProgram(program)
      ? { program, origin: "setting" }
      : { program: undefined, problem: `\`meshprobe.server.path\` does not name a program: \`${program}\`` };
  }
  const name = surroundings.platform === "win32" ? "meshprobe.exe" : "meshprobe";
  const bundled = paths.join(extensionFolder, "server", name);
  if (isProgram(bundled)) {
    return { program: bundled, origin: "bundled" };
  }
  const program = searchFolders(surroundings)
    .map((folder) => paths.join(folder, name))
    .find(isProgram);
  return program === undefined
    ? { program, problem: "meshprobe is not on `PATH`; install it, or set `meshprobe.server.path`" }
    : { program, origin: "PATH" };
}

/** Replaces `~` and `${workspaceFolder}`. A relative path is relative to the first folder of the workspace. */
function expand(configured: string, surroundings: Surroundings): string {
  const { home, workspaceFolder } = surroundings;
  const paths = pathModule(surroundings);
  const atHome = /^~(?=[\\/]|$)/.test(configured) ? home + configured.slice(1) : configured;
  const expanded = atHome.replaceAll("${workspaceFolder}", workspaceFolder ?? "");
  return paths.isAbsolute(expanded) || workspaceFolder === undefined ? expanded : paths.join(workspaceFolder, expanded);
}

/** Omits relative folders: what they contain depends on the directory from which the editor was started. */
function searchFolders(surroundings: Surroundings): string[] {
  const paths = pathModule(surroundings);
  return surroundings.searchPath.split(paths.delimiter).filter((folder) => paths.isAbsolute(folder));
}

function pathModule(surroundings: Surroundings): path.PlatformPath {
  return surroundings.platform === "win32" ? path.win32 : path.posix;
}
