import assert from "node:assert/strict";
import test from "node:test";

import { advice, starting } from "../src/starting";

test("the interpreter of the Python extension has the server", () => {
  const made = starting({ command: null, args: ["--local-rules"] }, "/env/bin/python");
  assert.deepEqual(made, { command: "/env/bin/python", args: ["-m", "dnnfix", "server", "--local-rules"] });
  assert.match(advice(made), /\/env\/bin\/python -m pip install 'dnnfix\[server\]'/);
});

test("without it the command is on the path", () => {
  assert.deepEqual(starting({ command: null, args: [] }, undefined), { command: "dnnfix", args: ["server"] });
});

test("a command of the user's own comes first", () => {
  const made = starting({ command: ["/opt/dnnfix", "server", "-v"], args: ["--isolated"] }, "/env/bin/python");
  assert.deepEqual(made, { command: "/opt/dnnfix", args: ["server", "-v", "--isolated"] });
});

test("an empty command is none", () => {
  assert.equal(starting({ command: [], args: [] }, undefined).command, "dnnfix");
});
