import * as vscode from "vscode";
import { LanguageClient, type LanguageClientOptions, State } from "vscode-languageclient/node";
import { isManifest } from "./manifest.ts";
import { findServer } from "./server.ts";
import { serverSettings } from "./serverSettings.ts";
import { initialSettings, SECTION, surroundings } from "./settings.ts";
import { StatusItem } from "./status.ts";

let extension: Extension | undefined;

/** Starts the server if the workspace has a configuration of meshprobe, or when a manifest is open. */
export async function activate(context: vscode.ExtensionContext): Promise<void> {
  extension = new Extension(context);
  context.subscriptions.push(
    vscode.commands.registerCommand("meshprobe.restart", () => extension?.restart()),
    vscode.commands.registerCommand("meshprobe.showOutput", () => {
      extension?.showOutput();
    }),
    vscode.workspace.onDidChangeConfiguration((change) =>
      change.affectsConfiguration(`${SECTION}.server`) ? extension?.restart() : undefined,
    ),
  );
  if (await opensManifest(context)) {
    await extension.start();
  }
}

export async function deactivate(): Promise<void> {
  await extension?.stop();
}

/** Returns whether to start now. Otherwise starts the server as soon as a manifest is opened or typed. */
async function opensManifest(context: vscode.ExtensionContext): Promise<boolean> {
  const marks = await vscode.workspace.findFiles("{.meshprobe.yaml,**/kustomization.yaml}", "**/node_modules/**", 1);
  if (marks.length > 0 || vscode.workspace.textDocuments.some(containsManifest)) {
    return true;
  }
  const waiting = vscode.Disposable.from(
    vscode.workspace.onDidOpenTextDocument(startFor),
    vscode.workspace.onDidChangeTextDocument((change) => startFor(change.document)),
  );
  context.subscriptions.push(waiting);
  return false;

  async function startFor(document: vscode.TextDocument): Promise<void> {
    if (containsManifest(document)) {
      waiting.dispose();
      await extension?.start();
    }
  }
}

function containsManifest(document: vscode.TextDocument): boolean {
  return ["yaml", "helm"].includes(document.languageId) && isManifest(document.getText());
}

/** The language client with its status item. */
class Extension {
  readonly #context: vscode.ExtensionContext;
  readonly #status = new StatusItem();
  readonly #output = vscode.window.createOutputChannel("meshprobe", { log: true });
  #client: LanguageClient | undefined;
  /** The last start or stop. Each waits for the one before it, so that no two servers run. */
  #last: Promise<void> = Promise.resolve();

  constructor(context: vscode.ExtensionContext) {
    this.#context = context;
    context.subscriptions.push(this.#status, this.#output);
  }

  start(): Promise<void> {
    return this.#next(() => this.#start());
  }

  stop(): Promise<void> {
    return this.#next(() => this.#stop());
  }

  restart(): Promise<void> {
    return this.#next(async () => {
      await this.#stop();
      await this.#start();
    });
  }

  showOutput(): void {
    this.#output.show();
  }

  #next(step: () => Promise<void>): Promise<void> {
    this.#last = this.#last.then(step);
    return this.#last;
  }

  async #start(): Promise<void> {
    if (this.#client) {
      return;
    }
    const server = findServer(surroundings(this.#context));
    if (server.program === undefined) {
      this.#status.showProblem(server.problem);
      this.#output.error(server.problem);
      return;
    }
    const details = `${server.program} (${server.origin})`;
    this.#output.info(`starting ${details}`);
    const run = { command: server.program, args: ["lsp"] };
    const client = new LanguageClient(SECTION, "meshprobe", { run, debug: run }, this.#options());
    client.onDidChangeState(({ newState }) => {
      this.#status.showState(newState, details);
    });
    try {
      await client.start();
      this.#client = client;
    } catch (error) {
      this.#status.showProblem(String(error));
      this.#output.error(`cannot start ${details}: ${String(error)}`);
      await client.dispose().catch(() => undefined);
    }
  }

  async #stop(): Promise<void> {
    const client = this.#client;
    this.#client = undefined;
    // A server that does not answer is killed by the client; the reason is of no use to the user.
    await client?.dispose().catch(() => undefined);
    this.#status.showState(State.Stopped, "");
  }

  #options(): LanguageClientOptions {
    return {
      documentSelector: ["yaml", "helm"].map((language) => ({ scheme: "file", language })),
      initializationOptions: initialSettings,
      outputChannel: this.#output,
      middleware: {
        workspace: {
          configuration: async (params, token, next) => {
            const answer = await next(params, token);
            return Array.isArray(answer) ? answer.map(serverSettings) : answer;
          },
        },
      },
    };
  }
}
