// The client of `dnnfix server`, and what of it VS Code shows.

import * as vscode from "vscode";
import {
  CloseAction,
  ErrorAction,
  type ErrorHandler,
  LanguageClient,
  type LanguageClientOptions,
  type ServerOptions,
  type ShowDocumentResult,
  State,
  WorkDoneProgressCancelNotification,
} from "vscode-languageclient/node";

import { Works } from "./works";

const NEVER = new vscode.CancellationTokenSource().token;

export class Client extends LanguageClient {
  private isUp = false;
  private readonly usual: ErrorHandler;

  constructor(name: string, server: ServerOptions, options: LanguageClientOptions) {
    const works = new Works((token) => void this.sendNotification(WorkDoneProgressCancelNotification.type, { token }));
    super(name, name, server, {
      ...options,
      // A server that does not start is not started again and again: the next time will be no better.
      errorHandler: {
        error: (...about) => (this.isUp ? this.usual.error(...about) : { action: ErrorAction.Continue }),
        closed: () => (this.isUp ? this.usual.closed() : { action: CloseAction.DoNotRestart }),
      },
      initializationFailedHandler: () => false,
      middleware: {
        handleWorkDoneProgress: works.handle,
        provideHover: async (document, position, token, next) => story(await next(document, position, token)),
        window: {
          showDocument: async (params, next) =>
            params.uri.endsWith(".md") ? preview(params.uri) : ((await next(params, NEVER)) as ShowDocumentResult),
        },
      },
    });
    this.usual = this.createDefaultErrorHandler();
    this.onDidChangeState((change) => change.newState === State.Stopped && works.endAll());
  }

  override async start(): Promise<void> {
    await super.start();
    // Where the server ends before it answers, the library resolves all the same.
    if (!this.isRunning()) {
      throw new Error("the server ended");
    }
    this.isUp = true;
  }

  override async dispose(): Promise<void> {
    this.isUp = false;
    await super.dispose();
  }

  /** While the server starts or stops, what goes wrong goes to the log alone: whoever starts it tells the user once what to do. */
  override error(message: string, data?: unknown, showNotification?: boolean | "force"): void {
    super.error(message, data, this.isUp ? showNotification : false);
  }
}

const RULE = "\n\n---\n\n";

/** A hover without the messages, which come first: VS Code shows them above every hover. */
function story(hover: vscode.Hover | null | undefined): vscode.Hover | null | undefined {
  for (const part of hover?.contents ?? []) {
    if (part instanceof vscode.MarkdownString) {
      const end = part.value.indexOf(RULE);
      part.value = end < 0 ? part.value : part.value.slice(end + RULE.length);
    }
  }
  return hover;
}

/** Show the story of a rule as it is meant to be read. */
async function preview(uri: string): Promise<ShowDocumentResult> {
  await vscode.commands.executeCommand("markdown.showPreview", vscode.Uri.parse(uri));
  return { success: true };
}
