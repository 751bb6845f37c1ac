FROM python:3.11-slim
ENV PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1 PIP_NO_CACHE_DIR=1
WORKDIR /app
COPY requirements.txt .
RUN pip install --requirement requirements.txt \
    && useradd --create-home headroom \
    && install --directory --owner headroom --group headroom /state
COPY manage.py LICENSE pyproject.toml ./
COPY config config
COPY diagnose diagnose
COPY kb kb
COPY wizard wizard
COPY content content
COPY templates templates
COPY static static
RUN python -m compileall -q config diagnose kb wizard  # once, not at each start and each health check
USER headroom
ENV HEADROOM_STATE=/state HOST=0.0.0.0
VOLUME /state
EXPOSE 8000
CMD ["python", "-m", "config.serve"]
