"""The project's settings, as `django-admin startproject` writes them. What differs from one installation to the next
(secret, hosts, database) prepare.sh has written to settings.json in the data folder, which DJANGO_DATA names or which
stands beside the project."""

import json
import os
from pathlib import Path

BASE_DIR = Path(__file__).resolve().parent.parent
DATA = Path(os.environ.get("DJANGO_DATA") or BASE_DIR.parent / "data")
own = json.loads((DATA / "settings.json").read_text())

SECRET_KEY = own["secret"]
ALLOWED_HOSTS = own["hosts"]
DATABASES = {"default": own["database"]}
DEBUG = False

INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "board",
]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]
ROOT_URLCONF = "houses.urls"
WSGI_APPLICATION = "houses.wsgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
LANGUAGE_CODE = "en-gb"
TIME_ZONE = "UTC"
USE_TZ = True

# Files that the server sends by itself: those of the applications, and what visitors upload.
STATIC_URL = "/static/"
STATIC_ROOT = BASE_DIR.parent / "static"
MEDIA_URL = "/media/"
MEDIA_ROOT = DATA / "media"
FILE_UPLOAD_PERMISSIONS = 0o644
DATA_UPLOAD_MAX_MEMORY_SIZE = 1 << 20
