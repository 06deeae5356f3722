// Selects the settings of the server. Does not depend on the API of VS Code, so that Node can test it.

/** The settings of the extension itself, which the server does not know. */
const OWN = new Set(["server", "trace"]);

/** Returns the settings that the server knows, from the whole section. */
export function serverSettings(section: unknown): Record<string, unknown> {
  if (typeof section !== "object" || section === null) {
    return {};
  }
  return Object.fromEntries(Object.entries(section).filter(([name]) => !OWN.has(name)));
}
