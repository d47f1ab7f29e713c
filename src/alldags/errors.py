"""Errors and warnings that alldags raises.

Every error derives from `ValueError`, is raised at the edge of the library, and names the problem, the offending value
and the fix, in at most 500 characters without control characters, whatever the names in the data are.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from alldags.text import printable, shortened
from alldags.wording import in_python, on_command_line


class AlldagsError(ValueError):
    """Base class of all errors raised by alldags; options in a message are marked (`alldags.wording`)."""

    def __init__(self, message: str = "") -> None:
        super().__init__(shortened(printable(in_python(message))))
        self._message = message

    @property
    def marked(self) -> str:
        """The message with its options marked, to be said by another error."""
        return self._message

    @property
    def on_command_line(self) -> str:
        """The message in the words of the command line."""
        return shortened(printable(on_command_line(self._message)))


class GraphError(AlldagsError):
    """A candidate graph is not consistent, cannot be read, or is too large for what is asked."""


class DataError(AlldagsError):
    """The table cannot be used as it is."""


class MissingValuesError(DataError):
    """Values are missing, and nothing was said about them.

    Parameters
    ----------
    message
        What is wrong.
    columns
        The columns that have gaps.
    """

    def __init__(self, message: str = "", columns: Iterable[str] = ()) -> None:
        super().__init__(message)
        self.columns = tuple(columns)


class PriorError(AlldagsError):
    """A prior setting is outside its range or does not fit the question."""


class EngineError(AlldagsError):
    """An engine cannot take the problem it was given."""


class MissingExtraError(AlldagsError, ImportError):
    """A feature needs a package that an optional extra installs."""


class AlldagsWarning(UserWarning):
    """Something the user can act on."""


class UnreadNoteWarning(AlldagsWarning):
    """A number was read, and not the note that changes it; printing the effect shows it."""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return ``"; did you mean 'smoking'?"`` when a known name is close to `name`, else an empty string."""
    close = get_close_matches(str(name), list(known), n=1)
    return f"; did you mean {close[0]!r}?" if close else ""


def require(module: str, extra: str) -> object:
    """Import `module` or raise an error that names the extra which installs it."""
    from importlib import import_module

    try:
        return import_module(module)
    except ImportError as error:
        raise missing_extra(module, extra) from error


def missing_extra(module: str, extra: str) -> MissingExtraError:
    """Return the error that names the extra which installs `module`."""
    top = module.partition(".")[0]
    return MissingExtraError(
        f"this needs the package {top!r}, which is not installed; run: pip install 'alldags[{extra}]'"
    )
