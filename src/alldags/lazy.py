"""Names that load their module on first use, so that importing a package stays cheap."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module


def attach(package: str, home: Mapping[str, str]) -> Callable[[str], object]:
    """Return a module-level ``__getattr__`` (PEP 562) for `package`.

    Parameters
    ----------
    package
        ``__name__`` of the package.
    home
        ``{name: module that defines it}``; a module that ends in the name itself is the value.
    """

    def load(name: str) -> object:
        if name not in home:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = import_module(home[name])
        value: object = module if home[name] == f"{package}.{name}" else getattr(module, name)
        setattr(sys.modules[package], name, value)
        return value

    return load
