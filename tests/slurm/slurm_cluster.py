"""The test cluster as its tests see it, from outside of its hosts: commands, jobs, files, processes, nodes."""

import json
import os
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TypeVar

SCRIPTS = Path(__file__).parent / "cluster"
USER = "alice"
UNENDED = {"PENDING", "RUNNING", "COMPLETING", "REQUEUED", "RESIZING", "SUSPENDED"}

T = TypeVar("T")


def until(probe: Callable[[], T], what: str, seconds: float = 120) -> T:
    """The first true answer of `probe`; an AssertionError that says `what` did not come, if none does."""
    deadline = time.monotonic() + seconds
    while not (answer := probe()):
        assert time.monotonic() < deadline, f"{what}: not within {seconds} s"
        time.sleep(0.2)
    return answer


@dataclass(frozen=True)
class Accounted:
    """A job, or a component of a heterogeneous one, as sacct has it: the state's first word, and STATUS:SIGNAL."""

    job: str
    state: str
    exit_code: str

    @property
    def came_to(self) -> str:
        return f"{self.state} {self.exit_code}"


class Cluster:
    """A cluster that is up, by its state directory."""

    def __init__(self, state: Path) -> None:
        self.state = state
        lines = (state / "conf" / "hosts").read_text().splitlines()
        self.addresses = {name: address for address, name in map(str.split, lines)}
        self.hosts = tuple(self.addresses)
        self.nodes = tuple(host for host in self.hosts if host != "login")
        self.ssh_config = state / "ssh" / "config"
        self._submitted: list[int] = []

    # --- commands

    def run(
        self,
        host: str,
        *command: str | PurePosixPath,
        user: str = USER,
        cwd: PurePosixPath | None = None,
        stdin: str = "",
        check: bool = True,
    ) -> subprocess.CompletedProcess[str]:
        """Run a command on a host as a user, in that user's home or in `cwd`."""
        at = ["-d", str(cwd)] if cwd else []
        done = self._script("on.sh", "-u", user, *at, host, *map(str, command), stdin=stdin)
        assert not check or done.returncode == 0, (
            f"{command} on {host} returned {done.returncode}:\n{done.stdout}\n{done.stderr}"
        )
        return done

    def out(self, host: str, *command: str | PurePosixPath, user: str = USER) -> str:
        """What a command that succeeds writes to its standard output, stripped."""
        return self.run(host, *command, user=user).stdout.strip()

    def _script(self, name: str, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [SCRIPTS / name, *arguments],
            input=stdin,
            capture_output=True,
            text=True,
            errors="surrogateescape",
            env=os.environ | {"CLUSTER_STATE": str(self.state)},
            timeout=300,
            check=False,
        )

    # --- files

    def outside(self, path: PurePosixPath | str) -> Path:
        """Where a path below /home, /shared or /scratch lies on this machine."""
        path = PurePosixPath(path)
        assert path.parts[1] in {"home", "shared", "scratch"}, f"{path} is not shared by the hosts"
        return self.state.joinpath(*path.parts[1:])

    def root(self, host: str) -> Path:
        """A host's file system; absolute symbolic links in it point elsewhere."""
        return Path(f"/proc/{self._init(host)}/root")

    def make_directory(self, name: str, user: str = USER, at: str = "shared") -> PurePosixPath:
        """A new directory of a user below /shared, or another that the hosts share."""
        made = Path(tempfile.mkdtemp(prefix=f"{name}-", dir=self.state / at))
        made.chmod(0o755)
        self._give(made, user)
        return PurePosixPath("/", at, made.name)

    def write(self, path: PurePosixPath, text: str, mode: int = 0o644, user: str = USER) -> PurePosixPath:
        """Put a user's file below /home or /shared."""
        outside = self.outside(path)
        outside.write_text(text)
        outside.chmod(mode)
        self._give(outside, user)
        return path

    def read(self, path: PurePosixPath) -> str:
        return self.outside(path).read_text()

    def _give(self, outside: Path, user: str) -> None:
        # The users are the hosts'; a home has its user's number.
        owner = (self.state / "home" / user).stat().st_uid
        os.chown(outside, owner, owner)

    # --- jobs

    def sbatch(
        self, *arguments: str | PurePosixPath, script: str = "", cwd: PurePosixPath | None = None, user: str = USER
    ) -> int:
        """Submit a file, or the text `script`; returns the job id. The job does not outlive its test."""
        done = self.run("login", "sbatch", "--parsable", *arguments, cwd=cwd, user=user, stdin=script)
        job = int(done.stdout.partition(";")[0])
        self.ends_with_test(job)
        return job

    def ends_with_test(self, *jobs: int) -> None:
        """Jobs that something else submitted do not outlive the test either."""
        self._submitted.extend(jobs)

    def cancel_submitted(self) -> None:
        """End what is left of the jobs of this test."""
        if self._submitted:
            self.run("login", "scancel", "--quiet", *map(str, self._submitted), user="root", check=False)
        self._submitted.clear()

    def queued(self, job: int, what: str = "%T") -> list[str]:
        """A job's lines in squeue, one for each component; none once it has ended."""
        done = self.run("login", "squeue", "--noheader", f"--jobs={job}", f"--format={what}", check=False)
        return done.stdout.split("\n")[:-1]

    def await_running(self, job: int) -> None:
        until(lambda: set(self.queued(job)) == {"RUNNING"}, f"job {job} runs")

    def accounting(self, job: int) -> list[Accounted]:
        """What sacct knows of the job, one entry for each component."""
        lines = self.out("login", "sacct", "-X", "-n", "-P", "-j", str(job), "-o", "JobID,State,ExitCode").splitlines()
        return [Accounted(name, state.split()[0], code) for name, state, code in (line.split("|") for line in lines)]

    def wait(self, job: int, seconds: float = 120) -> Accounted:
        """Wait for a job's end; returns what it came to, the first component's if it has several."""

        def ended() -> list[Accounted]:
            entries = self.accounting(job)
            return [] if any(entry.state in UNENDED for entry in entries) else entries

        until(lambda: not self.queued(job), f"job {job} ends", seconds)
        return until(ended, f"the end of job {job} is accounted")[0]

    # --- what the container plugin saw

    def events(self, job: int, event: str = "step") -> list[dict[str, object]]:
        """The plugin's records of a job: `step` (one for each step and node), `error` or `exit` (one for each task)."""
        text = (self.state / "boxlog" / "steps.jsonl").read_text(errors="surrogateescape")
        records = map(json.loads, text.splitlines())
        return [record for record in records if record["job"] == job and record["event"] == event]

    # --- what a job leaves

    def left_of(self, job: int) -> list[str]:
        """Processes of a job and of its steps, their descendants, and container roots: each as HOST: WHAT.

        A process is told by SLURM_JOB_ID in its environment.
        """
        namespaces = {Path(f"/proc/{self._init(host)}/ns/pid").readlink(): host for host in self.hosts}
        parents: dict[int, int] = {}
        found: dict[int, str] = {}
        own: set[int] = set()
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                host = namespaces.get((entry / "ns" / "pid").readlink())
                if host is None:
                    continue
                command = (entry / "cmdline").read_bytes()
                environment = (entry / "environ").read_bytes().split(b"\0")
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
            pid = int(entry.name)
            parents[pid] = parent
            found[pid] = f"{host}: {command.replace(bytes(1), b' ').decode(errors='replace').strip()}"
            if b"SLURM_JOB_ID=%d" % job in environment or command.startswith(b"slurmstepd: [%d." % job):
                own.add(pid)
        while more := {pid for pid, parent in parents.items() if parent in own} - own:
            own |= more
        roots = [
            f"{host}: /run/box/{root.name}"
            for host in self.nodes
            for root in (self.root(host) / "run" / "box").glob(f"c.{job}.*")
        ]
        return sorted([found[pid] for pid in own] + roots)

    def await_nothing_left(self, job: int) -> None:
        until(lambda: not self.left_of(job), f"nothing is left of job {job}, {self.left_of(job)}", 30)

    def _init(self, host: str) -> str:
        return (self.state / "pids" / host).read_text().split()[0]

    # --- nodes

    def crash(self, node: str) -> None:
        """Lose a node, for Slurm too.

        A test that does this holds the node with --exclusive, since other tests run beside it.
        """
        self._must("node.sh", "crash", node)

    def start(self, node: str) -> None:
        """Get a lost node back."""
        self._must("node.sh", "start", node)
        until(lambda: self.node_state(node) in {"idle", "mixed", "allocated"}, f"{node} is back")

    def node_state(self, node: str) -> str:
        return self.out("login", "sinfo", "--noheader", "--partition=batch", f"--nodes={node}", "--format=%T")

    # --- images

    def make_image(
        self,
        name: str,
        env: dict[str, str] | None = None,
        workdir: str | None = None,
        files: dict[str, Path] | None = None,
        hidden: tuple[str, ...] = (),
        trees: dict[str, Path] | None = None,
        mounts: tuple[str, ...] = (),
    ) -> str:
        """Make an image; its name is then good for --container-image. All tests share the images.

        `files` are copied to their paths; `trees` are hard links, for what nobody changes (see cluster/mkimage.sh).
        """
        options = [
            *(("-e", f"{key}={value}") for key, value in (env or {}).items()),
            *([("-w", workdir)] if workdir else []),
            *(("-m", mount) for mount in mounts),
            *(("-f", f"{path}={source}") for path, source in (files or {}).items()),
            *(("-l", f"{path}={source}") for path, source in (trees or {}).items()),
            *(("-x", path) for path in hidden),
        ]
        self._must("mkimage.sh", name, *(word for option in options for word in option))
        return name

    def _must(self, name: str, *arguments: str) -> str:
        done = self._script(name, *arguments)
        assert done.returncode == 0, f"{name} {arguments} returned {done.returncode}:\n{done.stdout}\n{done.stderr}"
        return done.stdout.strip()
