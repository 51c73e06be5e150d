"""A list from a template, and who answers."""
import os

from django.shortcuts import render

GOODS = [{"name": f"Article {number}", "price": number * 1.25} for number in range(1, 51)]


def home(request):
    return render(request, "home.html", {"host": request.get_host(), "user_id": os.geteuid(), "goods": GOODS})
