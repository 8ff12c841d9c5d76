// The real server, started with the command of the extension and spoken to with the protocol of its client.
// Needs the environment variable DNNFIX_PYTHON: an interpreter that has dnnfix[server].

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";

import {
  CodeActionRequest,
  createProtocolConnection,
  DidOpenTextDocumentNotification,
  ExitNotification,
  InitializedNotification,
  InitializeRequest,
  PublishDiagnosticsNotification,
  type PublishDiagnosticsParams,
  ShowMessageNotification,
  ShutdownRequest,
} from "vscode-languageserver-protocol/node";

import { starting } from "../src/starting";

const python = process.env["DNNFIX_PYTHON"];
const manifest = JSON.parse(readFileSync(join(process.cwd(), "package.json"), "utf-8"));

const FAULTY = `from torch import nn

model = nn.Sequential(nn.Linear(20, 10), nn.Softmax(dim=1))
loss = nn.CrossEntropyLoss()(model(inputs), targets)
`;

/** The settings as VS Code sends them where their user changed none: an object of objects, with every default. */
function defaults(): Record<string, unknown> {
  const made: Record<string, unknown> = {};
  for (const [name, about] of Object.entries<{ default: unknown }>(manifest.contributes.configuration.properties)) {
    const keys = name.split(".").slice(1);
    const last = keys.pop() as string;
    let place = made;
    for (const key of keys) {
      place = (place[key] ??= {}) as Record<string, unknown>;
    }
    place[last] = about.default;
  }
  return made;
}

test("the server takes every setting of the manifest, finds a fault and offers a patch", { skip: python === undefined ? "DNNFIX_PYTHON is not set" : false }, async () => {
  const command = starting({ command: null, args: ["--isolated"] }, python);
  const child = spawn(command.command, command.args);
  const connection = createProtocolConnection(child.stdout, child.stdin);
  const told: string[] = [];
  connection.onNotification(ShowMessageNotification.type, (message) => {
    told.push(message.message);
  });
  const published = new Promise<PublishDiagnosticsParams>((resolve) =>
    connection.onNotification(PublishDiagnosticsNotification.type, resolve),
  );
  connection.listen();
  const answer = await connection.sendRequest(InitializeRequest.type, {
    processId: process.pid,
    rootUri: null,
    capabilities: { workspace: { workspaceEdit: { documentChanges: true } } },
    initializationOptions: { settings: defaults() },
  });
  const commands = answer.capabilities.executeCommandProvider?.commands ?? [];
  assert.ok(commands.includes("dnnfix.prove"));
  const own = manifest.contributes.commands.map((each: { command: string }) => each.command);
  assert.deepEqual(own.filter((each: string) => commands.includes(each)), [], "the client registers the server's commands itself");
  await connection.sendNotification(InitializedNotification.type, {});
  const textDocument = { uri: "file:///a%20b.py", languageId: "python", version: 1, text: FAULTY };
  await connection.sendNotification(DidOpenTextDocumentNotification.type, { textDocument });
  const { diagnostics } = await published;
  assert.deepEqual(diagnostics.map((each) => each.code), ["DNF301"]);
  const actions = await connection.sendRequest(CodeActionRequest.type, {
    textDocument,
    range: diagnostics[0]!.range,
    context: { diagnostics },
  });
  assert.ok(actions?.some((each) => "edit" in each && each.edit?.documentChanges?.length === 1));
  assert.deepEqual(told, []);
  await connection.sendRequest(ShutdownRequest.type);
  await connection.sendNotification(ExitNotification.type);
  await new Promise((resolve) => child.on("exit", resolve));
});
