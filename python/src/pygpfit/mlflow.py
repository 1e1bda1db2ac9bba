"""Logs models, checkpoints and batches to MLflow, with MLflow's own client.

It needs the package mlflow or mlflow-skinny: ``pip install 'pygpfit[mlflow]'``.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import math
import re
import struct
from datetime import datetime
from pathlib import Path
from typing import Any, cast

from ._errors import GPFitError
from ._process import run
from ._types import PathLike, Report
from .runs import Run

# The scores among the results of a job.
_SCORES = (
    "nlml", "nlml_original_units", "data_fit", "complexity", "rmse", "rmse_standardized", "nlpd",
    "nlpd_standardized", "coverage95", "seconds", "value_evaluations", "gradient_evaluations",
)
# MLflow's states of the states of a job; others are SCHEDULED.
_STATES = {"running": "RUNNING", "done": "FINISHED", "failed": "FAILED", "interrupted": "KILLED"}
# The longest texts that MLflow takes.
_PARAM_LENGTH, _TAG_LENGTH = 6000, 8000


def log(path: PathLike | Run, experiment: str | None = None) -> list[str]:
    """Log a model, a checkpoint or a batch to MLflow and return the IDs of its runs.

    A model or a checkpoint becomes one run, and every job of a batch one. Options are its
    params; scores, tuned parameters and, from a checkpoint, the values of the objective are
    its metrics; model and log are its artifacts. A second call replaces the runs of the first
    and keeps tags that users have added.

    Parameters
    ----------
    path : path or Run
        a model file, the checkpoint of a fit, or the run directory of a batch
    experiment : str or None
        MLflow's experiment; None takes the name of the batch, or ``gpfit``

    ``mlflow.set_tracking_uri`` says where MLflow keeps the runs.
    """
    try:
        client: Any = importlib.import_module("mlflow").MlflowClient()
    except ImportError as error:
        raise GPFitError("pygpfit.mlflow needs MLflow: pip install 'pygpfit[mlflow]'") from error
    path = Path(path.path if isinstance(path, Run) else path).absolute()
    name = "gpfit"
    if path.is_dir():
        name, runs = _batch(path)
    else:
        runs = [_file(path)]
    found = client.get_experiment_by_name(experiment or name)
    where = found.experiment_id if found else client.create_experiment(experiment or name)
    return [_write(client, where, one) for one in runs]


def _file(path: Path) -> Report:
    """Return the run of a model or a checkpoint. Its times are the file's."""
    about = json.loads(run("inspect", path, options=["--json"]))
    time = int(path.stat().st_mtime * 1000) if path.exists() else 0
    one: Report = {"name": path.stem, "start": time, "end": time, "params": {}, "metrics": {}, "artifacts": []}
    one["tags"] = {"gpfit.kind": about["type"], "mlflow.source.name": str(path)}
    if about["type"] == "checkpoint":
        return one | {"status": "KILLED", "metrics": _objectives(path)}
    one["tags"]["gpfit.status"] = about["status"]
    one["params"] = {
        "kernel": about["kernel"], "mean": about["mean"], "features": ",".join(about["features"]),
        "target": about.get("target") or ",".join(t["name"] for t in about["targets"]), "n": about["n"], "d": len(about["used"]),
    }
    one["metrics"] = {"objective": [about["nlml"]]} | _parameters("parameters", about["parameters"])
    return one | {"status": "FINISHED", "artifacts": [path]}


def _batch(path: Path) -> tuple[str, list[Report]]:
    """Return the name of a batch and the runs of its jobs."""
    results = {job["job"]: job for job in Run(path).results()}
    manifest = json.loads((path / "run.json").read_text(encoding="utf-8"))
    runs = []
    for job in manifest["jobs"]:
        events = _events(path / "jobs" / f"{job['job']}.jsonl", job["fingerprint"])
        if "each" not in job:
            runs.append(_job(path, manifest, job, results[job["job"]], events))
            continue
        last = {event["each"]: event for event in events if "each" in event}
        for label in job["each"]["labels"]:  # each value has a run of its own
            result = results[job["job"].rpartition(".part-")[0] + "/" + label]
            runs.append(_job(path, manifest, job, result, [last[label]] if label in last else []))
    return manifest.get("name") or path.name, runs


def _job(path: Path, manifest: Report, job: Report, result: Report, events: list[Report]) -> Report:
    name = result["job"]
    tags = {
        "gpfit.kind": "job", "gpfit.program": manifest["program"], "gpfit.fingerprint": job["fingerprint"],
        "mlflow.source.name": str(path),
    }
    params = job["options"] | {"kernel": job["expression"], "kernel_name": job["kernel"], "split": job.get("split", "")}
    params |= {key: job[key] for key in ("data", "path", "seed", "d")} | {"n": result["n"]}
    if result.get("each"):
        params["each"] = result["each"]
    metrics = {key: [result[key]] for key in _SCORES if result.get(key) is not None}
    one: Report = {"name": name, "status": _STATES.get(result["state"], "SCHEDULED"), "start": None, "end": None}
    last: Report = {}
    for last in events:
        time = int(datetime.fromisoformat(re.sub(r"(\.\d{1,6})\d*Z$|Z$", r"\1+00:00", last["time"])).timestamp() * 1000)
        one |= {"start": time, "end": None} if last["type"] == "started" else {"end": time}
    if last.get("error"):
        tags["gpfit.error"] = last["error"]
    if last.get("type") == "done":
        report = last["report"]
        metrics |= {"objective": [report["objective"]]} | _parameters("parameters", report["parameters"])
        metrics |= _parameters("parameters_original_units", report.get("parameters_original_units"))
        tags |= {"gpfit.status": report["status"], "gpfit.device": report["device"], "gpfit.host": last["host"]}
        if report.get("warnings"):
            tags["gpfit.warnings"] = "\n".join(report["warnings"])
    elif (path / "checkpoints" / f"{name}.ckpt").exists():
        metrics |= _objectives(path / "checkpoints" / f"{name}.ckpt")
    files = [path / "logs" / f"{job['job']}.log"] + ([path / result["model"]] if result["model"] else [])
    return one | {"params": params, "metrics": metrics, "tags": tags, "artifacts": [file for file in files if file.is_file()]}


def _events(path: Path, fingerprint: str) -> list[Report]:
    """Return the events of a job with these options and data."""
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True) if path.exists() else []
    events = [json.loads(line) for line in lines if line.endswith("\n")]  # a killed process can leave half a line
    return [event for event in events if event["fingerprint"] == fingerprint]


def _parameters(prefix: str, values: dict[str, float] | None) -> dict[str, list[float]]:
    return {f"{prefix}/{name.replace('/', '_')}": [value] for name, value in (values or {}).items()}


def _objectives(path: Path) -> dict[str, list[float]]:
    """Return the values of every descent in a checkpoint, whose lines are DESCENT KIND POINT NUMBERS… CHECKSUM."""
    metrics: dict[str, list[float]] = {}
    for line in path.read_text(encoding="utf-8").split("\n")[1:-1]:
        descent, kind, _, number, *_ = line.split(" ")
        if kind == "v":
            metrics.setdefault(f"objective/{descent}", []).append(struct.unpack(">d", bytes.fromhex(number))[0])
    return metrics


def _name(text: str) -> str:
    """Return a name with the characters that MLflow allows: lengthscale[0] becomes lengthscale.0."""
    return re.sub(r"[^A-Za-z0-9_\-./ ]", "_", text.removesuffix("]").replace("[", "."))


def _flat(params: dict[str, Any], prefix: str = "") -> dict[str, str]:
    """Return params without dicts: each of their keys becomes one."""
    out: dict[str, str] = {}
    for key, value in params.items():
        if isinstance(value, dict):
            inner = cast("dict[str, Any]", value)
            out |= _flat({k.replace("/", "_"): v for k, v in inner.items()}, f"{prefix}{key}/")
        else:
            out[_name(prefix + key)] = _short(str(value).lower() if isinstance(value, bool) else value, _PARAM_LENGTH)
    return out


def _short(value: object, most: int) -> str:
    return text if len(text := str(value)) <= most else text[: most - 1] + "…"


def _write(client: Any, experiment: str, one: Report) -> str:
    """Write a run in place of earlier ones of the same thing and return its ID."""
    key = hashlib.sha256(f"{one['tags']['mlflow.source.name']}\0{one['name']}".encode()).hexdigest()
    tags = {"gpfit.key": key} | one["tags"]
    earlier = client.search_runs([experiment], f"tags.`gpfit.key` = '{key}'")
    for old in earlier:
        tags = {key: value for key, value in old.data.tags.items() if not key.startswith("gpfit.")} | tags
    new = client.create_run(experiment, start_time=one["start"], run_name=one["name"])
    try:
        _fill(client, new.info.run_id, one, tags)
    except BaseException:
        client.delete_run(new.info.run_id)
        raise
    for old in earlier:
        client.delete_run(old.info.run_id)
    run_id: str = new.info.run_id
    return run_id


def _fill(client: Any, run_id: str, one: Report, tags: dict[str, Any]) -> None:
    entities: Any = importlib.import_module("mlflow.entities")

    at = one["end"] or one["start"] or 0
    labels = [entities.RunTag(_name(key), _short(value, _TAG_LENGTH)) for key, value in tags.items() if key != "mlflow.runName"]
    params = [entities.Param(key, value) for key, value in _flat(one["params"]).items()]
    metrics = [
        entities.Metric(_name(key), value, at, step)
        for key, values in one["metrics"].items() for step, value in enumerate(values) if math.isfinite(value)
    ]
    client.log_batch(run_id, metrics=metrics, params=params, tags=labels)
    for file in one["artifacts"]:
        client.log_artifact(run_id, str(file))
    if one["end"]:
        client.set_terminated(run_id, one["status"], one["end"])
    else:
        client.update_run(run_id, one["status"])
