import * as vscode from "vscode";
import { State } from "vscode-languageclient/node";

/** The icon and the description of each state. */
const STATES: Record<State, [string, string]> = {
  [State.Starting]: ["loading~spin", "starting"],
  [State.StartFailed]: ["error", "failed to start"],
  [State.Running]: ["pulse", "running"],
  [State.Stopped]: ["circle-slash", "stopped"],
};

/** The item in the status bar. A click shows the output of the server. */
export class StatusItem implements vscode.Disposable {
  readonly #item = vscode.window.createStatusBarItem("meshprobe.status", vscode.StatusBarAlignment.Right);

  constructor() {
    this.#item.name = "meshprobe";
    this.#item.command = "meshprobe.showOutput";
    this.showState(State.Stopped, "");
    this.#item.show();
  }

  /** Shows the state of the server. `details` is a line for the tooltip, such as the path of the program. */
  showState(state: State, details: string): void {
    const [icon, word] = STATES[state];
    this.#show(icon, word, details, undefined);
  }

  /** Shows that the server does not run, and why. */
  showProblem(problem: string): void {
    this.#show("warning", "not running", problem, new vscode.ThemeColor("statusBarItem.warningBackground"));
  }

  dispose(): void {
    this.#item.dispose();
  }

  #show(icon: string, word: string, details: string, background: vscode.ThemeColor | undefined): void {
    this.#item.text = `$(${icon}) meshprobe`;
    this.#item.backgroundColor = background;
    const tooltip = new vscode.MarkdownString("", true);
    tooltip.isTrusted = { enabledCommands: ["meshprobe.restart", "meshprobe.showOutput"] };
    tooltip.appendMarkdown(`**meshprobe**: ${word}\n\n`);
    tooltip.appendText(details);
    tooltip.appendMarkdown("\n\n[Restart server](command:meshprobe.restart)");
    this.#item.tooltip = tooltip;
  }
}
