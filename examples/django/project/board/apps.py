"""The board, as an application of Django's."""

from django.apps import AppConfig


class BoardConfig(AppConfig):
    name = "board"
    verbose_name = "Board"
