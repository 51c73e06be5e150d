"""Notices on the board, each with a picture."""

from django.core.exceptions import ValidationError
from django.core.validators import FileExtensionValidator
from django.db import models

LARGEST = 2 << 20


def not_too_large(file):
    if file.size > LARGEST:
        raise ValidationError(f"A picture has at most {LARGEST >> 20} MB.")


class Notice(models.Model):
    words = models.CharField(max_length=200)
    picture = models.FileField(
        upload_to="pictures/",
        validators=[FileExtensionValidator(["gif", "jpg", "jpeg", "png"]), not_too_large],
    )
    posted = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-posted", "-id"]

    def __str__(self):
        return self.words
