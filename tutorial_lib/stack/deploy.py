"""Deploy: the files with which the same stack runs in containers, with Prometheus and Grafana.

``python -m tutorial_lib.stack.deploy`` writes them into the folder ``deploy``. They are made here, from code,
so that the names of the numbers stand in one place: each query is tried against a real Prometheus.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

__all__ = ["PANELS", "dashboard", "files", "prometheus_config"]

PANELS: Final = {
    "Tasks each second": "sum by (status) (rate(tutorial_tasks_total[1m]))",
    "Share of failed tasks": (
        'sum(rate(tutorial_tasks_total{status="failed"}[1m])) / sum(rate(tutorial_tasks_total[1m]))'
    ),
    "95 of 100 tasks took less than (seconds)": (
        "histogram_quantile(0.95, sum by (le) (rate(tutorial_task_seconds_bucket[1m])))"
    ),
    "Tasks each second, by worker": "sum by (worker) (rate(tutorial_tasks_total[1m]))",
    "Answers of the compute server": "sum by (code) (rate(tutorial_calls_total[1m]))",
    "Breaker open": "max(tutorial_breaker_open)",
}
"""The panels of the dashboard: title and query."""

_ALERTS: Final = """\
groups:
- name: stack
  rules:
  - alert: BreakerOpen
    expr: max(tutorial_breaker_open) == 1
    for: 30s
    annotations:
      summary: The compute server has not answered for half a minute.
  - alert: ManyTasksFail
    expr: sum(rate(tutorial_tasks_total{status="failed"}[1m])) / sum(rate(tutorial_tasks_total[1m])) > 0.1
    for: 1m
    annotations:
      summary: More than one task of ten fails.
"""

_COMPOSE: Final = """\
# docker compose up, in this folder. The front is at port 8000, Prometheus at 9090, Grafana at 3000.
x-service: &service
  build:
    context: ..
    dockerfile: deploy/Dockerfile
  environment: &environment
    TUTORIAL_STACK: '{stack}'
    PROMETHEUS_MULTIPROC_DIR: /numbers
  volumes: ["numbers:/numbers"]
  depends_on: [redis]

services:
  redis:
    image: redis:7
    command: redis-server --appendonly yes
  compute:
    <<: *service
    command: python -m tutorial_lib.stack.compute 0
  worker:
    <<: *service
    command: celery -A tutorial_lib.stack.worker:app worker --pool solo --loglevel ERROR
    pid: "service:web"  # the shared numbers go by process number, which must not be 1 in every container
    deploy: {{replicas: 2}}
  web:
    <<: *service
    command: python -m tutorial_lib.stack.web 8000 0.0.0.0
    ports: ["127.0.0.1:8000:8000"]
  prometheus:
    image: prom/prometheus:v3.1.0
    volumes:
    - ./prometheus.yml:/etc/prometheus/prometheus.yml:ro
    - ./alerts.yml:/etc/prometheus/alerts.yml:ro
    ports: ["127.0.0.1:9090:9090"]
  grafana:
    image: grafana/grafana:11.4.0
    environment:
      GF_AUTH_ANONYMOUS_ENABLED: "true"
    volumes: ["./grafana:/etc/grafana/provisioning:ro"]
    ports: ["127.0.0.1:3000:3000"]

volumes:
  numbers:
"""

_DOCKERFILE: Final = """\
FROM python:3.12-slim
COPY . /course
RUN pip install --no-cache-dir "/course[stack]"
"""

_DATA_SOURCE: Final = """\
apiVersion: 1
datasources:
- name: Prometheus
  uid: prometheus
  type: prometheus
  url: http://prometheus:9090
  isDefault: true
"""

_DASHBOARDS: Final = """\
apiVersion: 1
providers:
- name: tutorial
  type: file
  options:
    path: /etc/grafana/provisioning/dashboards
"""


def prometheus_config(target: str, *, rules: str = "") -> str:
    """Return Prometheus's configuration: fetch the numbers of ``target``, a host and port, every second.

    ``rules`` names the file with the alerts.
    """
    rule_files = f"rule_files: [{rules}]\n" if rules else ""
    return f"""\
global:
  scrape_interval: 1s
  evaluation_interval: 1s
{rule_files}scrape_configs:
- job_name: tutorial
  static_configs:
  - targets: ["{target}"]
"""


def dashboard() -> dict[str, Any]:
    """Return the Grafana dashboard as the value of its JSON file: the panels, two in a row."""
    return {
        "uid": "tutorial-stack",
        "title": "Tutorial stack",
        "schemaVersion": 39,
        "refresh": "5s",
        "time": {"from": "now-15m", "to": "now"},
        "panels": [_panel(number, title, PANELS[title]) for number, title in enumerate(PANELS)],
    }


def _panel(number: int, title: str, query: str) -> dict[str, Any]:
    row, column = divmod(number, 2)
    return {
        "id": number + 1,
        "title": title,
        "type": "timeseries",
        "gridPos": {"x": 12 * column, "y": 8 * row, "w": 12, "h": 8},
        "datasource": {"type": "prometheus", "uid": "prometheus"},
        "targets": [{"refId": "A", "expr": query}],
    }


def files() -> dict[str, str]:
    """Return the content of each file by its path in the folder ``deploy``."""
    settings = {
        "broker": "redis://redis:6379/0",
        "results": "redis://redis:6379/0",
        "compute": "compute:50051",
    }
    return {
        "compose.yaml": _COMPOSE.format(stack=json.dumps(settings)),
        "Dockerfile": _DOCKERFILE,
        "prometheus.yml": prometheus_config("web:8000", rules="alerts.yml"),
        "alerts.yml": _ALERTS,
        "grafana/datasources/prometheus.yml": _DATA_SOURCE,
        "grafana/dashboards/dashboards.yml": _DASHBOARDS,
        "grafana/dashboards/stack.json": json.dumps(dashboard(), indent=2) + "\n",
    }


def main() -> None:
    """Write the files into the folder ``deploy`` of the present folder."""
    for name, text in files().items():
        path = Path("deploy", name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        print(path)


if __name__ == "__main__":
    main()
