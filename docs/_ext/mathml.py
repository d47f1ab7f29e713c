"""Formulas as MathML, which browsers show by themselves: no script, no fonts, no internet."""

from __future__ import annotations

from html import escape
from typing import Any
from xml.etree import ElementTree

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.util import logging

logger = logging.getLogger(__name__)

NAMESPACE = "http://www.w3.org/1998/Math/MathML"
ACCENTS = frozenset("~ˆˉ˙¨→^_")  # of a tilde, a hat, a bar, dots, a vector, a wide hat, a line above
ElementTree.register_namespace("", NAMESPACE)


def converted(node: nodes.Node, as_block: bool) -> str:
    """Return a formula as MathML; one that cannot be converted is a warning, and shown as it was written."""
    text = node.astext()
    try:
        return with_indices_beside(tex2mathml(text, as_block=as_block))
    except MathError as error:
        logger.warning("formula %r: %s", text, error, location=node)
        return f"<code>{escape(text)}</code>"


def with_indices_beside(text: str) -> str:
    """Return MathML where the index of an accented letter stands beside it; docutils puts it below, like a limit."""
    root = ElementTree.fromstring(text.replace("&ApplyFunction;", "\N{FUNCTION APPLICATION}"))
    for element in list(root.iter(f"{{{NAMESPACE}}}munderover")):
        letter, index, accent = element
        if (accent.text or "").strip() in ACCENTS:
            accented = ElementTree.Element(f"{{{NAMESPACE}}}mover", accent="true")
            accented.extend([letter, accent])
            element.tag = f"{{{NAMESPACE}}}msub"
            element[:] = [accented, index]
    return ElementTree.tostring(root, encoding="unicode")


def inline(translator: Any, node: nodes.Node) -> None:
    """Write a formula inside a line."""
    translator.body.append(f'<span class="math">{converted(node, as_block=False)}</span>')
    raise nodes.SkipNode


def block(translator: Any, node: nodes.Node) -> None:
    """Write a formula on lines of its own; wide ones scroll inside their own box."""
    translator.body.append(f'<div class="math" tabindex="0">{converted(node, as_block=True)}</div>')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    """Offer the renderer under the name that `html_math_renderer` gives."""
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
