/* The environment of a task in a container. */
#include "box.h"
#include <pwd.h>
#include <stdlib.h>
#include <string.h>

static const char *image_value(const char *name, size_t n)
{
	for (const char *p = image_env; p && *p;) {
		size_t m = strcspn(p, "\n");
		if (m > n && !strncmp(p, name, n) && p[n] == '=')
			return p + n + 1;
		p += m + (p[m] == '\n');
	}
	return NULL;
}

/* Overrides the host's value unless the image has one or --container-env names it. */
static void hook_set(spank_t sp, const char *name, const char *v)
{
	char *host = listed(value[L_ENV], name, strlen(name)) ? env_of(sp, name) : NULL;

	if (!image_value(name, strlen(name)) && !(host && *host))
		spank_setenv(sp, name, v, 1);
}

static unsigned long env_number(spank_t sp, const char *name, unsigned long missing)
{
	char *v = env_of(sp, name);
	return v ? strtoul(v, NULL, 10) : missing;
}

static void hook_pytorch(spank_t sp)
{
	char *list = env_of(sp, "SLURM_STEP_NODELIST");

	if (list) {
		hostlist_t h = slurm_hostlist_create(list);
		char *first = slurm_hostlist_shift(h);
		if (first)
			hook_set(sp, "MASTER_ADDR", first);
		slurm_hostlist_destroy(h);
	}
	hook_set(sp, "MASTER_PORT", fmt("%u", jobid % 4536 + 61000));
	hook_set(sp, "WORLD_SIZE", fmt("%lu", env_number(sp, "SLURM_NTASKS", 1)));
	if (env_number(sp, "SLURM_STEP_NUM_TASKS", 1) > env_number(sp, "SLURM_STEP_NUM_NODES", 1))
		hook_set(sp, "OMP_NUM_THREADS", "1");
}

void set_environment(spank_t sp)
{
	static const char *const drop[] = { "LANG", "LANGUAGE", "LC_ALL" };
	char v[64];

	for (int i = 0; i < 3; i++)
		if (!listed(value[L_ENV], drop[i], strlen(drop[i])))
			spank_unsetenv(sp, drop[i]);
	/* what every container gets; the image's own values are laid on top */
	if (!image_value("PATH", 4) && !listed(value[L_ENV], "PATH", 4))
		spank_setenv(sp, "PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", 1);
	if (!image_value("HOME", 4) && !listed(value[L_ENV], "HOME", 4)) {
		struct passwd *pw = getpwuid(sw[S_REMAP] == 1 ? 0 : uid);
		if (pw)
			spank_setenv(sp, "HOME", pw->pw_dir, 1);
	}
	for (const char *p = image_env; p && *p;) {
		size_t m = strcspn(p, "\n");
		char *line = strndup(p, m), *eq = strchr(line, '=');
		if (eq) {
			*eq = '\0';
			/* --container-env keeps the host's value, if there is one that is not empty */
			char *host = listed(value[L_ENV], line, strlen(line)) ? env_of(sp, line) : NULL;
			if (!host || !*host)
				spank_setenv(sp, line, eq + 1, 1);
		}
		free(line);
		p += m + (p[m] == '\n');
	}
	if (pytorch_hook && image_value("PYTORCH_VERSION", 15))
		hook_pytorch(sp);
	if (image_value("PYTORCH_VERSION", 15) || env_of(sp, "PYTORCH_VERSION")) {
		if (spank_getenv(sp, "SLURM_PROCID", v, sizeof v) == ESPANK_SUCCESS)
			spank_setenv(sp, "RANK", v, 1);
		if (spank_getenv(sp, "SLURM_LOCALID", v, sizeof v) == ESPANK_SUCCESS)
			spank_setenv(sp, "LOCAL_RANK", v, 1);
	}
}

