"""`dnnfix verify`: repeats the proof of an accepted patch, by its certificate."""

from __future__ import annotations

from typing import Annotated

from typer import Argument

from dnnfix.cli import options
from dnnfix.cli.command import command
from dnnfix.cli.console import CLEAN, ERROR, FOUND, Console
from dnnfix.errors import CertificateError

EXIT_CODES = "0 the proof holds, 1 it does not hold here any more, 2 error"

EXAMPLES = """  dnnfix suggest train.py        shows where the certificate of each accepted patch lies
  dnnfix verify ~/.cache/dnnfix/certificates/3f2a9c.json
"""


@command(EXAMPLES, EXIT_CODES)
def run(
    console: Console,
    certificates: Annotated[list[str], Argument(metavar="CERTIFICATE", help="certificate files")],
    running: options.Again,
    configuration: options.Configuration,
) -> int:
    """Run the proof of an accepted patch again. The certificate holds the hashes of program and patch, the
    arguments, the seeds, the budget, the sandbox tier, the device, the versions and the verdicts; verdicts that differ now are listed. The
    program has to be where it was, seen from the working folder, with or without the patch."""
    from dnnfix import pipeline

    settings = configuration.settings(running)
    code = CLEAN
    for certificate in certificates:
        try:
            with console.working(certificate) as progress:
                progress("running the proof again")
                holds, differences = pipeline.verify_certificate(certificate, settings)
        except CertificateError as error:
            console.problem(str(error))
            code = ERROR
            continue
        console.write(f"{certificate}: {'the proof holds' if holds else 'the proof does NOT hold'}\n")
        console.write("".join(f"  {difference}\n" for difference in differences))
        code = code if holds else max(code, FOUND)
    return code
