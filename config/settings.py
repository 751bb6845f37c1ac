"""Django's settings. Everything that differs between sites comes from the environment: see .env.example."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from config import env, production

BASE_DIR = Path(__file__).resolve().parent.parent
STATE_DIR = env.folder("HEADROOM_STATE", BASE_DIR / "data")

DEBUG = env.flag("DEBUG")
SECRET_KEY = env.secret("SECRET_KEY", STATE_DIR)
# Everybody who reaches the site may read it, or its members alone.
MEMBERS_ONLY = env.flag("MEMBERS_ONLY")
HTTPS = env.flag("HTTPS")

ALLOWED_HOSTS = env.hosts("ALLOWED_HOSTS", ["localhost", "127.0.0.1", "[::1]"])
CSRF_TRUSTED_ORIGINS = env.origins("CSRF_TRUSTED_ORIGINS")
CSRF_FAILURE_VIEW = "config.worn.refused"

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "django_htmx",
    "allauth",
    "allauth.account",
    "allauth.mfa",
    "allauth.socialaccount",
    "allauth.socialaccount.providers.openid_connect",
    "kb",
    "wizard",
]

MIDDLEWARE = [
    "config.requests.told",
    "django.middleware.security.SecurityMiddleware",
    "config.security.security_headers",
    "config.security.Packed",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "config.security.OriginCheck",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "kb.members_only.MembersOnly",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "config.requests.led_back",
]

ROOT_URLCONF = "config.urls"
WSGI_APPLICATION = "config.wsgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "kb.context.viewer",
            ],
            "builtins": ["kb.templatetags.addresses", "kb.templatetags.moments"],
        },
    },
]

DATABASES = {"default": env.database("DATABASE_URL", STATE_DIR)}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in ("UserAttributeSimilarityValidator", "MinimumLengthValidator", "CommonPasswordValidator")
]

# Signing in: docs/decisions/0004-accounts.md
LOGIN_URL, LOGIN_REDIRECT_URL, ACCOUNT_LOGOUT_REDIRECT_URL = "account_login", "wizard:start", "wizard:start"
AUTHENTICATION_BACKENDS = ["kb.accounts.Backend"]
ACCOUNT_ADAPTER, SOCIALACCOUNT_ADAPTER = "kb.accounts.AccountAdapter", "kb.accounts.SignOnAdapter"
ACCOUNT_LOGIN_METHODS = {"username", "email"}
ACCOUNT_SIGNUP_FIELDS = ["username*", "email", "password1*", "password2*"]
ACCOUNT_EMAIL_VERIFICATION = "none"  # nobody is told from another by an address, see the decision
ACCOUNT_EMAIL_UNKNOWN_ACCOUNTS = False  # no mail to an address that a stranger typed
ACCOUNT_SESSION_REMEMBER = True
ACCOUNT_REAUTHENTICATION_REQUIRED = True
ACCOUNT_DEFAULT_HTTP_PROTOCOL = "https" if HTTPS else "http"
ALLAUTH_TRUSTED_PROXY_COUNT = 1 if HTTPS else 0  # the limits of sign-in count by the visitor's address
MFA_SUPPORTED_TYPES = ["totp", "recovery_codes"]
MFA_FORMS = {"authenticate": "kb.accounts.CodeForm"}
MFA_TOTP_ISSUER = "Headroom"
MFA_TOTP_TOLERANCE = 1  # a clock that is half a minute off
MFA_ALLOW_UNVERIFIED_EMAIL = True

SIGN_ON = env.issuer("OIDC_ISSUER")
SIGN_ON_NAME = env.text("OIDC_NAME", "single sign-on") if SIGN_ON else ""
SIGN_ON_ROLE = env.choice("OIDC_ROLE", "READER", ("NOBODY", "READER", "EDITOR", "REVIEWER"))
SOCIALACCOUNT_PROVIDERS: dict[str, Any] = {}
if SIGN_ON:
    SOCIALACCOUNT_PROVIDERS["openid_connect"] = {
        "OAUTH_PKCE_ENABLED": True,
        "APP": {
            "provider_id": "sso",
            "name": SIGN_ON_NAME,
            "client_id": env.required("OIDC_CLIENT_ID", "OIDC_ISSUER"),
            "secret": env.required("OIDC_CLIENT_SECRET", "OIDC_ISSUER"),
            "settings": {"server_url": SIGN_ON, "verified_email": env.flag("OIDC_TRUST_EMAIL")},
        },
    }
SOCIALACCOUNT_EMAIL_VERIFICATION = "none"
SOCIALACCOUNT_REQUESTS_TIMEOUT = 5

# What the limits of sign-in count in: shared by all processes, there without any server beside the database.
CACHES = {
    "default": {
        "BACKEND": "django.core.cache.backends.db.DatabaseCache",
        "LOCATION": "headroom_cache",
        "OPTIONS": {"MAX_ENTRIES": 10_000},
    }
}

# Where links in mails begin.
HAS_SITE_URL = bool(env.text("SITE_URL"))
SITE_URL = env.origin("SITE_URL", f"http://127.0.0.1:{env.whole('PORT', 8000, 1, 65535)}")
HAS_MAIL = bool(env.text("EMAIL_URL"))
globals().update(env.email("EMAIL_URL"))
DEFAULT_FROM_EMAIL = SERVER_EMAIL = env.sender("MAIL_FROM", "headroom@localhost")
ACCOUNT_EMAIL_SUBJECT_PREFIX = ""
ACCOUNT_EMAIL_NOTIFICATIONS = HAS_MAIL
PASSWORD_RESET_TIMEOUT = 24 * 3600

LANGUAGE_CODE = "en-gb"
TIME_ZONE = env.zone("TIME_ZONE", "UTC")
USE_TZ = True

MEDIA_ROOT = STATE_DIR / "files"  # served by a view alone, never by their path
STATIC_URL = "static/"
STATIC_ROOT = STATE_DIR / "static"
STATICFILES_DIRS = [BASE_DIR / "static"]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"},
}
if DEBUG:  # files as they lie in static/, without a manifest
    STORAGES["staticfiles"] = {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
WHITENOISE_ALLOW_ALL_ORIGINS = False  # no other site needs them

# A log of some megabytes pasted into the text field must get a page that says what to do, not a bare 400.
DATA_UPLOAD_MAX_MEMORY_SIZE = 32 * 1024 * 1024
FILE_UPLOAD_MAX_MEMORY_SIZE = 2 * 1024 * 1024

SECURE_REFERRER_POLICY = "no-referrer"
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_CROSS_ORIGIN_OPENER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
SESSION_COOKIE_HTTPONLY = True
if HTTPS:  # behind a proxy that ends TLS and sets X-Forwarded-Proto itself
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = True
    SECURE_HSTS_SECONDS = 30 * 24 * 3600
SILENCED_SYSTEM_CHECKS = [
    "security.W003",  # config.security.OriginCheck is that middleware, under its own name
    "security.W005",  # subdomains and preload lists: the owner of the domain decides
    "security.W021",
    "security.W008",  # the proxy redirects to HTTPS; a redirect here would fail the container's health check
]

REDIS_URL = env.redis("REDIS_URL")
BROKER_DIR = STATE_DIR / "broker"
CELERY_BROKER_URL = REDIS_URL or "filesystem://localhost"
# Whoever saves waits for the wake-up: a broker that is away is not asked twice, which takes six seconds.
CELERY_BROKER_TRANSPORT_OPTIONS: dict[str, Any] = {"socket_connect_timeout": 2, "socket_timeout": 20, "max_retries": 0}
if not REDIS_URL:
    for _name in ("messages", "control"):
        (BROKER_DIR / _name).mkdir(parents=True, exist_ok=True)
    CELERY_BROKER_TRANSPORT_OPTIONS = {
        "data_folder_in": str(BROKER_DIR / "messages"),
        "data_folder_out": str(BROKER_DIR / "messages"),
        "control_folder": str(BROKER_DIR / "control"),
        "polling_interval": 0.05,
    }
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_PUBLISH_RETRY = False  # the work list is the database: a wake-up that is lost is made good by the beat
CELERY_TASK_TIME_LIMIT = 600
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_WORKER_ENABLE_REMOTE_CONTROL = bool(REDIS_URL)  # answers the container's health check
CELERY_BEAT_SCHEDULER = "config.beat:Scheduler"
CELERY_BEAT_SCHEDULE_FILENAME = str(STATE_DIR / "beat")
BEAT_ALIVE = STATE_DIR / "beat-alive"
# Longer than two machines' clocks differ: the worker throws away what has expired by its own.
_WITHIN = {"expires": 3600}
CELERY_BEAT_SCHEDULE = {
    "refresh estimates": {"task": "kb.tasks.refresh_estimates", "schedule": 600.0, "options": _WITHIN},
    "mail notices": {"task": "kb.tasks.mail_notices", "schedule": 120.0, "options": _WITHIN},
    "purge diagnoses": {"task": "wizard.tasks.purge_diagnoses", "schedule": 3600.0, "options": _WITHIN},
}

# What Prometheus shows to be given the figures; without it nothing is counted.
METRICS_TOKEN = env.token("METRICS_TOKEN")
METRICS_DIR = STATE_DIR / "metrics"
if METRICS_TOKEN:
    METRICS_DIR.mkdir(exist_ok=True)
    os.environ["PROMETHEUS_MULTIPROC_DIR"] = str(METRICS_DIR)  # read when the counters are made

if HTTPS:
    production.refuse_weak(
        debug=DEBUG,
        hosts=ALLOWED_HOSTS,
        secret=SECRET_KEY,
        site_url=SITE_URL,
        mails=HAS_MAIL,
        metrics_token=METRICS_TOKEN,
    )

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "filters": {"request": {"()": "config.logs.WithRequest"}},
    "formatters": {
        "TEXT": {"format": "{asctime} {levelname} {name} {request_id}: {message}", "style": "{"},
        "JSON": {"()": "config.logs.JsonLines"},
    },
    "handlers": {
        "console": {
            "class": "logging.StreamHandler",
            "filters": ["request"],
            "formatter": env.choice("LOG_FORMAT", "TEXT", ("TEXT", "JSON")),
        }
    },
    "root": {
        "handlers": ["console"],
        "level": env.choice("LOG_LEVEL", "WARNING", ("DEBUG", "INFO", "WARNING", "ERROR")),
    },
    "loggers": {"django": {"handlers": ["console"], "level": "WARNING", "propagate": False}},
}
