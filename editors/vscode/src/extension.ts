// Starts `dnnfix server` for VS Code. What is found, and what is offered, is the server's doing.

import * as vscode from "vscode";
import { ExecuteCommandRequest, type LanguageClientOptions } from "vscode-languageclient/node";

import { Client } from "./client";
import { advice, starting, words } from "./starting";

const NAME = "dnnfix";

let client: Client | undefined;
let changing: Promise<void> = Promise.resolve();
let log: vscode.OutputChannel;

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  log = vscode.window.createOutputChannel(NAME);
  context.subscriptions.push(
    log,
    vscode.commands.registerCommand("dnnfix.restart", restart),
    vscode.commands.registerCommand("dnnfix.showLog", () => log.show()),
    vscode.commands.registerCommand("dnnfix.proveFile", proveFile),
    vscode.workspace.onDidChangeConfiguration(async (change) => {
      if (change.affectsConfiguration(`${NAME}.server`)) {
        await restart();
      }
    }),
  );
  const python = await pythonExtension();
  const changed = python?.environments?.onDidChangeActiveEnvironmentPath;
  if (changed !== undefined) {
    context.subscriptions.push(changed(restart));
  }
  await restart();
}

export function deactivate(): Promise<void> {
  return inTurn(stop);
}

function restart(): Promise<void> {
  return inTurn(async () => {
    await stop();
    await start();
  });
}

/** One start or stop after the other: two at once would leave a server that nobody knows. */
function inTurn(change: () => Promise<void>): Promise<void> {
  changing = changing.then(change, change);
  return changing;
}

async function stop(): Promise<void> {
  const running = client;
  client = undefined;
  // Disposed of, it does not come back, also where it is just starting again after a crash and cannot be stopped.
  await running?.dispose().catch((error: Error) => log.appendLine(error.message));
}

async function start(): Promise<void> {
  const settings = vscode.workspace.getConfiguration(`${NAME}.server`);
  const chosen = {
    command: settings.get<string[] | null>("command") ?? null,
    args: settings.get<string[]>("args") ?? [],
  };
  const command = starting(chosen, await interpreter());
  const folder = vscode.workspace.workspaceFolders?.[0]?.uri.fsPath;
  const options: LanguageClientOptions = {
    documentSelector: [
      { language: "python", scheme: "file" },
      { language: "python", scheme: "untitled" },
      { language: "python", notebook: "jupyter-notebook" },
    ],
    initializationOptions: { settings: vscode.workspace.getConfiguration(NAME) },
    synchronize: { configurationSection: NAME },
    outputChannel: log,
  };
  const made = new Client(NAME, { ...command, options: { cwd: folder } }, options);
  log.appendLine(`starting ${words(command)}`);
  try {
    await made.start();
    client = made;
  } catch {
    void tell(advice(command)); // not waited for: nothing else would be started until the message is closed
  }
}

/** An error, and the way to the log. */
async function tell(message: string): Promise<void> {
  const show = "Show the log";
  if ((await vscode.window.showErrorMessage(message, show)) === show) {
    log.show();
  }
}

/** Have the program of the active editor, or the notebook, proven. */
async function proveFile(): Promise<void> {
  const uri = vscode.window.activeNotebookEditor?.notebook.uri ?? vscode.window.activeTextEditor?.document.uri;
  if (client === undefined) {
    void tell("dnnfix: the server is not running. See why in the log, then restart it.");
  } else if (uri !== undefined) {
    const address = client.code2ProtocolConverter.asUri(uri);
    const prove = { command: "dnnfix.prove", arguments: [address, ""] };
    await client.sendRequest(ExecuteCommandRequest.type, prove).catch((error: Error) => {
      void tell(`dnnfix: the program was not looked at: ${error.message}`);
    });
  }
}

/** What is used of the interface of the Python extension. */
interface Python {
  environments?: {
    getActiveEnvironmentPath(resource?: vscode.Uri): { path: string };
    resolveEnvironment(path: { path: string }): Promise<{ executable: { uri?: vscode.Uri } } | undefined>;
    onDidChangeActiveEnvironmentPath: vscode.Event<unknown>;
  };
}

async function pythonExtension(): Promise<Python | undefined> {
  const extension = vscode.extensions.getExtension<Python>("ms-python.python");
  return extension?.activate();
}

/** The interpreter that is chosen in the Python extension, where that is installed. */
async function interpreter(): Promise<string | undefined> {
  const environments = (await pythonExtension())?.environments;
  const folder = vscode.workspace.workspaceFolders?.[0]?.uri;
  const active = environments?.getActiveEnvironmentPath(folder);
  const resolved = active === undefined ? undefined : await environments?.resolveEnvironment(active);
  return resolved?.executable.uri?.fsPath;
}
