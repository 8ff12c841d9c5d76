// Starts `dnnfix server` for VS Code. What is found, and what is offered, is the server's doing.

import * as vscode from "vscode";
import { ExecuteCommandRequest, type LanguageClientOptions } from "vscode-languageclient/node";

import { Client } from "./client";
import { advice, type Command, starting, words } from "./starting";

const NAME = "dnnfix";

let client: Client | undefined;
let log: vscode.OutputChannel;

/** The last command that was started, whatever came of it. */
let started = "";
let changing: Promise<void> = Promise.resolve();

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  log = vscode.window.createOutputChannel(NAME);
  context.subscriptions.push(
    log,
    vscode.commands.registerCommand("dnnfix.restart", restart),
    vscode.commands.registerCommand("dnnfix.showLog", () => log.show()),
    vscode.commands.registerCommand("dnnfix.proveFile", proveFile),
    vscode.workspace.onDidChangeConfiguration(async (change) => {
      if (change.affectsConfiguration(`${NAME}.server`)) {
        await renew();
      }
    }),
  );
  const python = await pythonExtension();
  const changed = python?.environments?.onDidChangeActiveEnvironmentPath;
  if (changed !== undefined) {
    context.subscriptions.push(changed(renew));
  }
  await restart();
}

export function deactivate(): Promise<void> {
  return inTurn(stop);
}

function restart(): Promise<void> {
  return inTurn(async () => {
    await stop();
    await start(await chosen());
  });
}

/** Restart where the server is another now: the Python extension tells of changes that change nothing. */
function renew(): Promise<void> {
  return inTurn(async () => {
    const command = await chosen();
    if (words(command) !== started) {
      await stop();
      await start(command);
    }
  });
}

/** One start or stop after the other: two at once would leave a server that nobody knows. */
function inTurn(change: () => Promise<void>): Promise<void> {
  changing = changing.then(change, change);
  return changing;
}

async function chosen(): Promise<Command> {
  const settings = vscode.workspace.getConfiguration(`${NAME}.server`);
  const own = {
    command: settings.get<string[] | null>("command") ?? null,
    args: settings.get<string[]>("args") ?? [],
  };
  return starting(own, await interpreter());
}

async function stop(): Promise<void> {
  const running = client;
  client = undefined;
  // Disposed of, it does not come back, also where it is just starting again after a crash and cannot be stopped.
  await running?.dispose().catch((error: Error) => log.appendLine(error.message));
}

async function start(command: Command): Promise<void> {
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
  started = words(command);
  log.appendLine(`starting ${started}`);
  try {
    await made.start();
    client = made;
  } catch {
    void tell(advice(command)); // not waited for: nothing else would be started until the message is closed
  }
}

/** An error, and what can be done about it. */
async function tell(message: string): Promise<void> {
  const show = "Show the log";
  const again = "Restart the server";
  const answer = await vscode.window.showErrorMessage(message, show, again);
  if (answer === show) {
    log.show();
  } else if (answer === again) {
    await restart();
  }
}

/** Have the program of the active editor, or the notebook, proven. */
async function proveFile(): Promise<void> {
  const uri = vscode.window.activeNotebookEditor?.notebook.uri ?? vscode.window.activeTextEditor?.document.uri;
  if (client === undefined) {
    void tell("dnnfix: the server is not running. See why in the log.");
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
