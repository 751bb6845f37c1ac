"""The forms of accounts, members and tokens."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib.auth import get_user_model
from django.contrib.auth.forms import UserCreationForm
from django.contrib.auth.models import User

from kb.audit import ACTIONS
from kb.models import Member, Role
from kb.tokens import LIFETIMES, SCOPES

_SHORT = {"class": "in short"}
_WHOM = "An address, if you like: the link goes there where this site sends mail, and it fills the form."
ROLES = [(role.value, role.label) for role in Role if role > Role.NOBODY]


class JoinForm(UserCreationForm):  # type: ignore[type-arg]
    """A name, an address where one is wanted, and a password, twice."""

    class Meta:
        model = get_user_model()
        fields = ("username", "email")
        labels = {"email": "E-mail"}
        help_texts = {
            "username": "Letters, digits and @ . + - _. It stands beside what you write and stays.",
            "email": "May stay empty. For a forgotten password and for notices.",
        }

    def validate_password_for_user(self, user: User, password_field_name: str = "password1") -> None:
        """What is wrong with the password stands at the password, not at its repetition."""
        super().validate_password_for_user(user, password_field_name)  # type: ignore[misc]


class EmailForm(forms.ModelForm):  # type: ignore[type-arg]
    """One's own address."""

    class Meta:
        model = User
        fields = ("email",)
        labels = {"email": "E-mail"}
        help_texts = {"email": "Empty: no mail at all. A forgotten password then needs whoever runs this site."}


class NoticesForm(forms.ModelForm):  # type: ignore[type-arg]
    """Whether notices go out by mail."""

    class Meta:
        model = Member
        fields = ("mail",)
        labels = {"mail": "Send me notices by e-mail too"}


class InvitationForm(forms.Form):
    """Whom to invite, and as what; ``most`` is the highest role that may be given."""

    role = forms.TypedChoiceField(coerce=lambda value: Role(int(value)), label="As", widget=forms.Select(attrs=_SHORT))
    email = forms.EmailField(required=False, label="For whom", help_text=_WHOM)

    def __init__(self, *args: Any, most: Role, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["role"].choices = [pair for pair in ROLES if pair[0] <= most]  # type: ignore[attr-defined]


class RoleForm(forms.Form):
    """Another role for a member."""

    role = forms.TypedChoiceField(choices=ROLES, coerce=lambda value: Role(int(value)))


class TokenForm(forms.Form):
    """A new token."""

    name = forms.CharField(max_length=100, label="What for", help_text="So that you know it again: nightly export.")
    scopes = forms.MultipleChoiceField(
        choices=list(SCOPES.items()), widget=forms.CheckboxSelectMultiple, label="It may"
    )
    days = forms.TypedChoiceField(
        choices=list(LIFETIMES.items()), coerce=int, initial=90, label="Good for", widget=forms.Select(attrs=_SHORT)
    )


class AuditForm(forms.Form):
    """Which lines of the audit log."""

    action = forms.ChoiceField(
        choices=[("", "everything"), *((word, word) for word in ACTIONS)],
        required=False,
        label="What",
        widget=forms.Select(attrs=_SHORT),
    )
    who = forms.CharField(max_length=150, required=False, label="Who", widget=forms.TextInput(attrs=_SHORT))
    since = forms.DateField(required=False, label="From", widget=forms.DateInput(attrs={**_SHORT, "type": "date"}))
    until = forms.DateField(required=False, label="To", widget=forms.DateInput(attrs={**_SHORT, "type": "date"}))
