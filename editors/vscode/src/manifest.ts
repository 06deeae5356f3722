// Recognizes Kubernetes manifests. Does not depend on the API of VS Code, so that Node can test it.

/** Returns whether a text contains a Kubernetes object, or part of one: lines with `apiVersion` and `kind`. */
export function isManifest(text: string): boolean {
  return /^[ \t-]*apiVersion[ \t]*:/m.test(text) && /^[ \t-]*kind[ \t]*:/m.test(text);
}
