"""Which view answers which address."""

from board import views
from django.contrib import admin
from django.urls import path

urlpatterns = [
    path("", views.home, name="home"),
    path("admin/", admin.site.urls),
]
