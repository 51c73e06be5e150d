"""What the administration shows of the board."""

from django.contrib import admin

from .models import Notice


@admin.register(Notice)
class NoticeAdmin(admin.ModelAdmin):
    list_display = ["words", "picture", "posted"]
    search_fields = ["words"]
