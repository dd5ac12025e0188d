"""The analyzer in the browser: pages of views; each view is a value, an address and Python code that reproduces it."""

from polarbear.web.kind import PAGES, Shown, view
from polarbear.web.pages import views_of
from polarbear.web.sources import Sources
from polarbear.web.views import View

__all__ = ["PAGES", "Shown", "Sources", "View", "view", "views_of"]
