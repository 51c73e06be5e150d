import board.models
import django.core.validators
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
    ]

    operations = [
        migrations.CreateModel(
            name='Notice',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('words', models.CharField(max_length=200)),
                ('picture', models.FileField(upload_to='pictures/', validators=[django.core.validators.FileExtensionValidator(['gif', 'jpg', 'jpeg', 'png']), board.models.not_too_large])),
                ('posted', models.DateTimeField(auto_now_add=True)),
            ],
            options={
                'ordering': ['-posted', '-id'],
            },
        ),
    ]
