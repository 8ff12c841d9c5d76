"""The exceptions of dnnfix, grouped by whose fault they are.

DnnfixError
├── UserError                what the caller gave cannot be used; the message says what to do (exit code 2)
│   ├── InputError           a path, file or notebook
│   ├── ConfigError          a setting
│   ├── CertificateError     a certificate
│   └── BotReportError       a report of an analysis that is to be published
├── EnvironmentProblem       this machine or interpreter cannot do what is needed
│   ├── SandboxError         no sandbox of the asked tier
│   ├── InterpreterError     the interpreter given by --python
│   ├── ForgeError           a forge, or git, refused what was asked of it
│   └── AnalysisFailed       the analysis of a repository ended without a report
├── CatalogueError           a template or validator is wrong
│   ├── DuplicateCodeError   two templates claim one code or name
│   └── EditError            an edit cannot be carried out
│       ├── NestedSitesError two edits touch the same text
│       └── SiteNotFoundError no node at the site
└── BudgetExceeded           the time of a file or run is used up
"""

from __future__ import annotations


class DnnfixError(Exception):
    """Root of everything that dnnfix raises on purpose."""


class UserError(DnnfixError):
    """The caller's input cannot be used. The message names the file, the place and what to do."""


class InputError(UserError):
    """A path, file, notebook or standard input that cannot be analysed."""


class ConfigError(UserError):
    """A setting that is unknown or has a wrong value."""


class CertificateError(UserError):
    """A certificate that cannot be read or does not belong to the program."""


class BotReportError(UserError):
    """A report of an analysis that does not follow its schema, or asks for what no patch may do."""


class EnvironmentProblem(DnnfixError):
    """This machine or interpreter cannot do what is needed."""


class SandboxError(EnvironmentProblem):
    """The asked sandbox tier does not work on this machine."""


class InterpreterError(EnvironmentProblem):
    """The interpreter that programs are to run in cannot be started."""


class ForgeError(EnvironmentProblem):
    """A forge, or git, cannot be reached or refused what was asked of it."""


class AnalysisFailed(EnvironmentProblem):
    """The analysis of a repository ended without a report."""


class CatalogueError(DnnfixError):
    """A template or validator is wrong; its author has to fix it."""


class DuplicateCodeError(CatalogueError):
    """Two templates claim one code or one name."""


class EditError(CatalogueError):
    """An edit cannot be carried out on this source."""


class NestedSitesError(EditError):
    """Two edits of one candidate touch the same text."""


class SiteNotFoundError(EditError):
    """The source has no expression or statement at the site of an edit."""


class BudgetExceeded(DnnfixError):
    """The time that a file or run was given is used up."""
