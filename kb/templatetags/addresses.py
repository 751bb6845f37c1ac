"""``{% url %}`` for every template: the address of a page is worked out once a process, not once for every row that links to it."""

from __future__ import annotations

from functools import lru_cache

from django import template
from django.template.base import Parser, Token
from django.template.context import Context
from django.template.defaulttags import URLNode
from django.template.defaulttags import url as plain
from django.urls import get_script_prefix, reverse
from django.utils.html import escape
from django.utils.safestring import SafeString

register = template.Library()


@lru_cache(maxsize=4096)
def _address(prefix: str, name: str, slug: tuple[str, ...]) -> SafeString:
    """The address below ``prefix``, where the server says that the site begins, which ``reverse`` asks for itself."""
    return escape(reverse(name, args=slug))


class Address(URLNode):
    """The address of a page that has no slug or one. With several parts it may hold a secret, and is worked out each time."""

    def render(self, context: Context) -> str:
        if self.asvar or self.kwargs or len(self.args) > 1 or not context.autoescape:
            return str(super().render(context))
        slug = tuple(str(part.resolve(context)) for part in self.args)
        return _address(get_script_prefix(), self.view_name.resolve(context), slug)


@register.tag
def url(parser: Parser, token: Token) -> Address:
    node = plain(parser, token)
    return Address(node.view_name, node.args, node.kwargs, node.asvar)
