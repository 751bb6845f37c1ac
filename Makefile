# make run starts the site, make test tests it; both make their own environment first.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

.PHONY: run test check lint types admin clean
.DEFAULT_GOAL := run

run: $(VENV)/.stamp-run
	@exec $(BIN)/python -m config.serve

test: $(VENV)/.stamp-dev
	@$(BIN)/python -m pytest -n auto --maxprocesses 4 --dist loadfile --no-loadscope-reorder $(ARGS)

check: lint types

types: $(VENV)/.stamp-dev
	$(BIN)/python -m mypy config diagnose kb wizard

lint: $(VENV)/.stamp-dev
	$(BIN)/python -m ruff format --check .
	$(BIN)/python -m ruff check .
	$(BIN)/python -m diagnose.knowledge.check
	$(BIN)/python manage.py check --fail-level WARNING
	$(BIN)/python manage.py makemigrations --check --dry-run

admin: $(VENV)/.stamp-run
	@$(BIN)/python manage.py migrate --verbosity 0
	@$(BIN)/python manage.py admin_link --site "$${SITE_URL:-http://$${HOST:-127.0.0.1}:$${PORT:-8000}}"

# What people have written stays: only data/ holds it, and this does not touch it.
clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	@command -v git >/dev/null || { echo "git is missing: install it (Debian: apt install git)." >&2; exit 1; }
	@command -v $(PYTHON) >/dev/null || { echo "$(PYTHON) is missing: install Python 3.11 or newer (Debian: apt install python3 python3-venv), or name it with PYTHON=." >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "$(PYTHON) is older than 3.11: name a newer one, as in make PYTHON=python3.12." >&2; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { echo "$(PYTHON) has no venv: install it (Debian: apt install python3-venv)." >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV)

$(VENV)/.stamp-run: requirements.txt | $(BIN)/python
	@echo "Installing what Headroom needs into $(VENV)"
	@$(PIP) -r requirements.txt || { echo "The packages could not be installed: see the lines above; a package index must be reachable once." >&2; exit 1; }
	@touch $@

$(VENV)/.stamp-dev: requirements-dev.txt $(VENV)/.stamp-run
	@$(PIP) -r requirements-dev.txt || { echo "The packages for tests could not be installed: see the lines above." >&2; exit 1; }
	@touch $@
