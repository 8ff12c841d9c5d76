// How the server is started, and what it is told at the start: nothing here needs an editor.

/** What the user set about the server itself. */
export interface Chosen {
  /** The whole command, or null for the one of the interpreter. */
  command: string[] | null;
  /** More words for it. */
  args: string[];
}

/** A program and its words. */
export interface Command {
  command: string;
  args: string[];
}

/**
 * The command that starts the server: the user's, else that of the interpreter which the Python extension has chosen,
 * else the one on the path.
 */
export function starting(chosen: Chosen, interpreter: string | undefined): Command {
  const [program, ...words] = chosen.command ?? [];
  if (program !== undefined) {
    return { command: program, args: [...words, ...chosen.args] };
  }
  if (interpreter !== undefined) {
    return { command: interpreter, args: ["-m", "dnnfix", "server", ...chosen.args] };
  }
  return { command: "dnnfix", args: ["server", ...chosen.args] };
}

/** A command as it is typed. */
export function words(command: Command): string {
  return [command.command, ...command.args].join(" ");
}

/** What to say where the server does not start. */
export function advice(command: Command): string {
  const python = command.args[0] === "-m" ? command.command : "python";
  return (
    `dnnfix: the server did not start (${words(command)}). ` +
    `Install it with: ${python} -m pip install 'dnnfix[server]', or name another command in dnnfix.server.command.`
  );
}
