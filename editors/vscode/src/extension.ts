// Starts `dnnfix server` for VS Code. What is found, and what is offered, is the server's doing.

import * as vscode from "vscode";
import { ExecuteCommandRequest, LanguageClient, type LanguageClientOptions } from "vscode-languageclient/node";

import { advice, starting } from "./starting";

const NAME = "dnnfix";

let client: LanguageClient | undefined;
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
  await start();
}

export async function deactivate(): Promise<void> {
  const running = client;
  client = undefined;
  await running?.stop();
}

async function restart(): Promise<void> {
  await deactivate();
  await start();
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
  const made = new LanguageClient(NAME, NAME, { ...command, options: { cwd: folder } }, options);
  try {
    await made.start();
    client = made;
  } catch {
    const install = "Show the log";
    if ((await vscode.window.showErrorMessage(advice(command), install)) === install) {
      log.show();
    }
  }
}

/** Have the program of the active editor, or the notebook, proven. */
async function proveFile(): Promise<void> {
  const uri = vscode.window.activeNotebookEditor?.notebook.uri ?? vscode.window.activeTextEditor?.document.uri;
  if (uri !== undefined && client !== undefined) {
    const address = client.code2ProtocolConverter.asUri(uri);
    await client.sendRequest(ExecuteCommandRequest.type, { command: "dnnfix.prove", arguments: [address, ""] });
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
