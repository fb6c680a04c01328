/*
 * A SPANK plugin for tests.  It takes the container options that users of Slurm with Pyxis give to srun and sbatch, and
 * gives each step a file system of its own, strict enough that a step sees nothing of the host that was not mounted.
 * Every step, on every node, is written to log=FILE.
 *
 * Plugin arguments (plugstack.conf): images=DIR log=FILE writable=0|1 scope=global|job
 *   pytorch_hook=0|1 (set MASTER_ADDR and so on in PyTorch images, as sites with that optional hook of enroot see it)
 */
#include "box.h"
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#pragma GCC visibility push(default)
SPANK_PLUGIN(box, 1)
#pragma GCC visibility pop

const char *images = "/opt/images";
static const char *logfile;
bool default_writable, scope_job, pytorch_hook;

uid_t uid;
gid_t gid;
gid_t *gids;
int ngids;
uint32_t jobid, stepid;

static bool contained;

static bool runs_here(void)
{
	spank_context_t c = spank_context();

	return c == S_CTX_LOCAL || c == S_CTX_ALLOCATOR || c == S_CTX_REMOTE;
}

int slurm_spank_init(spank_t sp, int ac, char **av)
{
	for (int i = 0; i < ac; i++) {
		if (!strncmp(av[i], "images=", 7)) images = av[i] + 7;
		else if (!strncmp(av[i], "log=", 4)) logfile = av[i] + 4;
		else if (!strncmp(av[i], "writable=", 9)) default_writable = av[i][9] == '1';
		else if (!strncmp(av[i], "pytorch_hook=", 13)) pytorch_hook = av[i][13] == '1';
		else if (!strncmp(av[i], "scope=", 6)) scope_job = !strcmp(av[i] + 6, "job");
		else {
			slurm_error("box: unknown argument: %s", av[i]);
			return -1;
		}
	}
	return runs_here() ? register_options(sp) : 0;
}

int slurm_spank_init_post_opt(spank_t sp, int ac, char **av)
{
	gid_t *g = NULL;

	if (!runs_here())
		return 0;
	contained = value[T_IMAGE] || value[T_NAME];
	if (!contained)
		warn_without_container();
	if (spank_context() != S_CTX_REMOTE)
		return 0;

	spank_get_item(sp, S_JOB_UID, &uid);
	spank_get_item(sp, S_JOB_GID, &gid);
	spank_get_item(sp, S_JOB_SUPPLEMENTARY_GIDS, &g, &ngids);
	gids = ngids > 0 ? memcpy(calloc(ngids, sizeof *gids), g, ngids * sizeof *gids) : NULL;
	spank_get_item(sp, S_JOB_ID, &jobid);
	spank_get_item(sp, S_JOB_STEPID, &stepid);
	if (logfile)
		log_to(logfile);
	log_step(sp);
	if (contained)
		set_up(sp);	/* trouble is kept for the tasks: only they can tell srun */
	/*
	 * A daemon that a task leaves becomes slurmstepd's child, where Slurm finds it by its parents, and ends it with
	 * the step.  Elsewhere a cgroup sees to that.
	 */
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	return 0;
}

/*
 * Slurm still works on the host's files (chdir, stdio) between this hook and the next one, so the namespace is joined
 * in the next one, which runs as the user.
 */
int slurm_spank_task_init_privileged(spank_t sp, int ac, char **av)
{
	return contained && !trouble ? prctl(PR_SET_KEEPCAPS, 1) : 0;
}

int slurm_spank_task_init(spank_t sp, int ac, char **av)
{
	if (!contained)
		return 0;
	if (trouble) {
		log_error(trouble);
		slurm_error("box: %s", trouble);
		slurm_error("box: container start failed");
		return -1;
	}
	if (join_container())
		return -1;
	set_environment(sp);
	return 0;
}

int slurm_spank_task_exit(spank_t sp, int ac, char **av)
{
	uint32_t rank = 0;
	int status = 0;

	spank_get_item(sp, S_TASK_GLOBAL_ID, &rank);
	spank_get_item(sp, S_TASK_EXIT_STATUS, &status);
	log_exit(rank, status);
	return 0;
}

int slurm_spank_exit(spank_t sp, int ac, char **av)
{
	leave_container();
	log_end();
	return 0;
}
