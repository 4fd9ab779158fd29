# Where the portal shows apps below paths, Jupyter is below one that differs from visitor to visitor, so that it is no
# base_url. The portal says with every request what stands before, and takes it off: here it is put before what Jupyter
# tells the browser. Nobody but the portal reaches this server.
from jupyter_server.base.handlers import AuthenticatedHandler
from jupyter_server.extension.handler import ExtensionHandlerMixin


def before(handler):
    said = handler.request.headers.get("X-Forwarded-Prefix", "").rstrip("/")
    return said if said.startswith("/") and not said.startswith("//") else ""


def base_url(handler):
    return before(handler) + handler.settings.get("base_url", "/")


def page_config(handler, config):
    def full(name, value):
        own = name.startswith("full") and isinstance(value, str) and value.startswith("/")
        return before(handler) + value if own else value

    # A new one: Jupyter gives its own to the next visitor as well.
    return {name: full(name, value) for name, value in config.items()}


AuthenticatedHandler.base_url = property(base_url)
ExtensionHandlerMixin.base_url = property(base_url)
c.ServerApp.tornado_settings.update({"page_config_hook": page_config})  # noqa: F821
