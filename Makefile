# Needs the development environment on the PATH, see README.md.
SHELL_SCRIPTS = .ci/run $(wildcard tests/slurm/*.sh tests/slurm/cluster/*.sh)

.PHONY: test
test:  ## all that needs no cluster
	pytest --quiet

.PHONY: test-slurm
test-slurm:  ## on a real Slurm cluster inside this machine; needs root on Debian, see tests/slurm/README.md
	tests/slurm/run.sh --quiet -m "not slow"

.PHONY: test-slurm-slow
test-slurm-slow:  ## what waits for Slurm: time limits, requeues, facts about it
	tests/slurm/run.sh --quiet -m slow

.PHONY: lint
lint:
	ruff check .
	ruff format --check .
	mypy
	lint-imports
	shellcheck --severity=style $(SHELL_SCRIPTS)
