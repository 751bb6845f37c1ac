"""Comments, watching, notices, files, what changed lately."""

from django.urls import path

from kb.urls import converters as converters
from kb.views import around

urlpatterns = [
    path("changes/", around.recent, name="changes"),
    path("changes.atom", around.feed, name="feed"),
    path("<written:kind>.atom", around.feed, name="feed_of"),
    path("notices/", around.notices, name="notices"),
    path("<written:kind>/<document:slug>/comments/", around.comment, name="comment"),
    path("<written:kind>/<document:slug>/comments/<int:pk>/", around.comment_change, name="comment_change"),
    path("<written:kind>/<document:slug>/comments/<int:pk>/delete/", around.comment_delete, name="comment_delete"),
    path("<written:kind>/<document:slug>/watch/", around.watch, name="watch"),
    path("<written:kind>/<document:slug>/files/", around.attach, name="attach"),
    path("<written:kind>/<document:slug>/files/<str:name>", around.file, name="file"),
    path("<written:kind>/<document:slug>/files/<str:name>/delete/", around.detach, name="detach"),
]
