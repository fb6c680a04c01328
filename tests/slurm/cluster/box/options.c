/* The options, named as Pyxis names them. */
#include "box.h"
#include <stdlib.h>
#include <string.h>

enum kind { TEXT, LIST, FLAG };
struct opt {
	const char *name, *arg, *help;
	enum kind kind;
	int slot;		/* FLAG: which switch */
	int on;			/* FLAG: value it sets */
};
static const struct opt OPT[] = {
	{ "container-image", "IMAGE|PATH", "[box] image that the step runs in", TEXT, T_IMAGE, 0 },
	{ "container-mounts", "SRC:DST[:FLAGS],...", "[box] host paths to mount; flags joined by +", LIST, L_MOUNTS, 0 },
	{ "container-workdir", "PATH", "[box] working directory in the container", TEXT, T_WORKDIR, 0 },
	{ "container-name", "NAME", "[box] keep the container under this name", TEXT, T_NAME, 0 },
	{ "container-save", "PATH", "[box] accepted and recorded only", TEXT, T_SAVE, 0 },
	{ "container-env", "NAME,...", "[box] host variables that win over the image's", LIST, L_ENV, 0 },
	{ "container-unshare", "NS,...", "[box] accepted and recorded only", LIST, L_UNSHARE, 0 },
	{ "container-mount-home", NULL, "[box] mount the home directory", FLAG, S_HOME, 1 },
	{ "no-container-mount-home", NULL, "[box] do not mount the home directory", FLAG, S_HOME, 0 },
	{ "container-remap-root", NULL, "[box] be root inside", FLAG, S_REMAP, 1 },
	{ "no-container-remap-root", NULL, "[box] keep the user inside", FLAG, S_REMAP, 0 },
	{ "container-entrypoint", NULL, "[box] accepted and recorded only", FLAG, S_ENTRY, 1 },
	{ "no-container-entrypoint", NULL, "[box] accepted and recorded only", FLAG, S_ENTRY, 0 },
	{ "container-entrypoint-log", NULL, "[box] accepted and recorded only", FLAG, S_ENTRYLOG, 1 },
	{ "container-writable", NULL, "[box] writable root", FLAG, S_WRITE, 1 },
	{ "container-readonly", NULL, "[box] read-only root", FLAG, S_WRITE, 0 },
};
#define N_OPT (sizeof OPT / sizeof *OPT)

char *value[N_VALUE];
int sw[N_SWITCH] = { -1, -1, -1, -1, -1 };

static int on_option(int val, const char *arg, int remote)
{
	const struct opt *o = &OPT[val];

	if (o->kind == FLAG) {
		if (sw[o->slot] != -1 && sw[o->slot] != o->on) {
			slurm_error("box: --%s contradicts an earlier option", o->name);
			return -1;
		}
		sw[o->slot] = o->on;
		return 0;
	}
	if (!arg || !*arg) {
		slurm_error("box: --%s: argument required", o->name);
		return -1;
	}
	if (o->kind == TEXT) {
		if (value[o->slot] && strcmp(value[o->slot], arg)) {
			slurm_error("box: --%s specified multiple times", o->name);
			return -1;
		}
		if (!value[o->slot])
			value[o->slot] = fmt("%s", arg);
		return 0;
	}
	/* a list option may be repeated: the items add up, doubles are dropped */
	for (const char *p = arg;;) {
		size_t n = strcspn(p, ",");
		char *item = strndup(p, n), *old = value[o->slot];
		bool bad = n == 0;

		if (o->slot == L_MOUNTS && !bad) {
			char *c = strchr(item, ':');
			const char *dst = c ? c + 1 : item;
			bool special = !strncmp(item, "tmpfs:", 6) || !strncmp(item, "umount:", 7);

			bad = item[0] == ':' || *dst == '\0' || *dst == ':' ||
			      !strchr("./", *dst) || !(strchr("./", *item) || special);
		}
		if (bad) {
			slurm_error("box: --%s: invalid format: %s", o->name, arg);
			free(item);
			return -1;
		}
		if (!listed(old, item, n))
			value[o->slot] = old ? fmt("%s,%s", old, item) : fmt("%s", item);
		free(item);
		if (!p[n])
			break;
		p += n + 1;
	}
	return 0;
}

int register_options(spank_t sp)
{
	for (size_t i = 0; i < N_OPT; i++) {
		struct spank_option o = { (char *) OPT[i].name, (char *) OPT[i].arg, (char *) OPT[i].help,
			OPT[i].arg != NULL, (int) i, on_option };
		if (spank_option_register(sp, &o) != ESPANK_SUCCESS) {
			slurm_error("box: cannot register --%s", OPT[i].name);
			return -1;
		}
	}
	return 0;
}

void warn_without_container(void)
{
	for (size_t i = 0; i < N_OPT; i++)
		if (OPT[i].kind == FLAG ? sw[OPT[i].slot] == OPT[i].on : value[OPT[i].slot] != NULL)
			slurm_error("box: ignoring --%s because neither --container-image nor --container-name is set", OPT[i].name);
}
