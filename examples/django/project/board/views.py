"""The board's one page: the newest notices, and the form for another one."""

from django import forms
from django.contrib import messages
from django.shortcuts import redirect, render

from .models import Notice


class NoticeForm(forms.ModelForm):
    class Meta:
        model = Notice
        fields = ["words", "picture"]


def home(request):
    form = NoticeForm(request.POST or None, request.FILES or None)
    if request.method == "POST" and form.is_valid():
        form.save()
        messages.success(request, "Your notice is on the board.")
        return redirect("home")
    request.session["visits"] = request.session.get("visits", 0) + 1
    context = {"form": form, "notices": Notice.objects.all()[:20], "visits": request.session["visits"]}
    return render(request, "board/home.html", context, status=422 if form.errors else 200)
