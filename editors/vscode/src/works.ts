// Work of the server that can be stopped. The library shows it in the status bar, with the button that stops it out of
// sight; here it is a notification.

import * as vscode from "vscode";
import type { Middleware, ProgressToken } from "vscode-languageclient/node";

export class Works {
  private readonly running = new Map<ProgressToken, Work>();

  /** `stop` asks the server to stop the work that has that token. */
  constructor(private readonly stop: (token: ProgressToken) => void) {}

  readonly handle: NonNullable<Middleware["handleWorkDoneProgress"]> = (token, params, next) => {
    const work = this.running.get(token);
    if (params.kind === "begin" && params.cancellable) {
      this.running.set(token, new Work(params.title, () => this.stop(token)));
    } else if (params.kind === "report" && work !== undefined) {
      work.report(params.message);
    } else {
      work?.end();
      this.running.delete(token);
      next(token, params);
    }
  };

  /** Show none any more: the server is gone. */
  endAll(): void {
    for (const work of this.running.values()) {
      work.end();
    }
    this.running.clear();
  }
}

class Work {
  private progress: vscode.Progress<{ message?: string }> | undefined;
  private message: string | undefined;
  end = (): void => {};

  constructor(title: string, stop: () => void) {
    const ended = new Promise<void>((resolve) => (this.end = resolve));
    const options = { location: vscode.ProgressLocation.Notification, title, cancellable: true };
    // VS Code calls back a little later: what is told until then is kept.
    void vscode.window.withProgress(options, (progress, asked) => {
      this.progress = progress;
      this.report(this.message);
      asked.onCancellationRequested(stop);
      return ended;
    });
  }

  report(message: string | undefined): void {
    this.message = message;
    if (message !== undefined) {
      this.progress?.report({ message });
    }
  }
}
