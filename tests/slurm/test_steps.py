"""What a step's container is given: its mounts, its variables, its directory."""

from pathlib import PurePosixPath

from slurm_cluster import Cluster
from submissions import Login

CONFIG = """\
services:
  files:
    type: command
    container: base
    port: 8123
    mounts: [{shared}/one:/one, "{shared}/two words:/two words:ro", "{shared}"]
    env:
      NVIDIA_VISIBLE_DEVICES: lit:void
      ENROOT_ROOTFS_WRITABLE: lit:n
    command: |
      cat /one/file '/two words/file' {shared}/one/file
      touch /one/new
      touch '/two words/new' 2>/dev/null || echo read-only
      echo "$NVIDIA_VISIBLE_DEVICES $ENROOT_ROOTFS_WRITABLE"
      exec python3 -m http.server 8123
    health_check:
      path: /
      interval_seconds: 1
compute:
  cluster:
    type: slurm
    account: evaluation
    walltime: "00:10:00"
    node_pools:
      cpu:
        partition: batch
driver:
  container: base
  benchmarks:
    look:
      command: |
        echo "$GYM_SERVICE_FILES_URL" >artifacts/url
job:
  output_path: {shared}
"""


def test_a_container_gets_every_mount(cluster: Cluster, shared: PurePosixPath, login: Login) -> None:
    for name in ("one", "two words"):
        cluster.outside(shared / name).mkdir()
        cluster.outside(shared / name).chmod(0o777)
        cluster.write(shared / name / "file", f"{name}\n")
    submission = login.submit(cluster.write(shared / "config.yaml", CONFIG.format(shared=shared)))
    assert submission.wait().came_to == "COMPLETED 0:0", submission.logs()
    said = [line for line in submission.log("files").splitlines() if not line.startswith(("srun:", "127.0.0.1"))]
    assert said == ["one", "two words", "one", "read-only", "void n"]
    assert cluster.outside(shared / "one" / "new").exists()
    assert cluster.read(submission.bench_dir / "artifacts" / "url") == "http://localhost:8123\n"
