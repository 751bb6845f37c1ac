"""The page behind the one-time admin link."""

from __future__ import annotations

from django.contrib.auth import get_user_model, login
from django.contrib.auth.forms import UserCreationForm
from django.contrib.auth.models import User
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from kb import links


class AdminForm(UserCreationForm):  # type: ignore[type-arg]
    """A name and a password, twice."""

    def save(self, commit: bool = True) -> User:
        user: User = super().save(commit=False)
        user.is_staff = user.is_superuser = True
        if commit:
            user.save()
        return user

    class Meta:
        model = get_user_model()
        fields = ("username",)


@never_cache
@require_http_methods(["GET", "POST"])
def setup(request: HttpRequest, token: str) -> HttpResponse:
    """Asks for a name and a password and signs the new admin in; 404 when the link does not hold."""
    link = links.find(token)
    if link is None:
        return render(request, "kb/setup_spent.html", status=404)
    form = AdminForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        with transaction.atomic():
            if not links.use(link):
                return render(request, "kb/setup_spent.html", status=404)
            user = form.save()
        login(request, user)
        return redirect("kb:cases")
    return render(request, "kb/setup.html", {"form": form})
