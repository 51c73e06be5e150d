"""The Django site, as mod_wsgi's configuration names it."""
import os

from django.core.wsgi import get_wsgi_application

os.environ["DJANGO_SETTINGS_MODULE"] = "shop.settings"
application = get_wsgi_application()
