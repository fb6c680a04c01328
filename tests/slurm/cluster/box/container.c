/* Starting a container, attaching to a named one, and joining it. */
#include "box.h"
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <linux/capability.h>
#include <pwd.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static const char base_dir[] = "/run/box";

static int ns_fd = -1, life_fd = -1;
char *trouble;
char *image_env, *image_workdir;

static int rm_one(const char *path, const struct stat *st, int type, struct FTW *w)
{
	return remove(path), 0;
}

/*
 * Fork the two helpers of a container and wait until it is built:
 *   janitor (outside) waits for the holder and then removes an unnamed container;
 *   holder  (inside)  keeps the mount namespace until slurmstepd is gone (end of life pipe).
 * Both are detached from slurmstepd, so Slurm neither waits for nor counts them.
 */
static void start_container(const char *box, bool named, const char *img, const char *cwd, const char *home,
	const char *script)
{
	int status[2], life[2];
	char msg[4096];
	ssize_t n = 0, r;
	long pid = -1;
	pid_t a;

	if (pipe2(status, O_CLOEXEC) || pipe2(life, O_CLOEXEC)) {
		trouble = fmt("pipe: %m");
		return;
	}
	a = fork();
	if (a == 0) {
		int null, keep_s, keep_l;

		setsid();
		if (fork())
			_exit(0);
		null = open("/dev/null", O_RDWR);
		for (int i = 0; i < 3; i++)
			dup2(null, i);
		keep_s = fcntl(status[1], F_DUPFD, 100);
		keep_l = fcntl(life[0], F_DUPFD, 100);
		for (int i = 3; i < 100; i++)
			close(i);
		for (int i = 100; i < 4096; i++)
			if (i != keep_s && i != keep_l)
				close(i);
		if (chdir("/"))
			_exit(1);
		pid_t c = fork();
		if (c == 0) {
			char one;
			if (build(box, img, cwd, home, script) == 0)
				dprintf(keep_s, "pid %d", getpid());
			else
				dprintf(keep_s, "%s", oops);
			close(keep_s);
			do
				errno = 0;
			while (read(keep_l, &one, 1) > 0 || errno == EINTR);
			_exit(0);
		}
		close(keep_s);
		close(keep_l);
		while (waitpid(c, NULL, 0) < 0 && errno == EINTR)
			;
		if (!named)
			nftw(box, rm_one, 32, FTW_DEPTH | FTW_PHYS);
		_exit(0);
	}
	close(status[1]);
	close(life[0]);
	while (waitpid(a, NULL, 0) < 0 && errno == EINTR)
		;
	while ((r = read(status[0], msg + n, sizeof msg - 1 - n)) != 0) {
		if (r < 0 && errno != EINTR)
			break;
		n += r > 0 ? r : 0;
	}
	msg[n] = '\0';
	close(status[0]);
	if (sscanf(msg, "pid %ld", &pid) != 1) {
		trouble = fmt("%s", n ? msg : "container holder died");
		close(life[1]);
		return;
	}
	ns_fd = open(fmt("/proc/%ld/ns/mnt", pid), O_RDONLY | O_CLOEXEC);
	life_fd = life[1];
	if (ns_fd < 0)
		trouble = fmt("mount namespace of %ld: %m", pid);
	if (named) {
		FILE *f = fopen(fmt("%s/pid", box), "we");
		if (f) {
			fprintf(f, "%ld\n", pid);
			fclose(f);
		}
	}
}

void set_up(spank_t sp)
{
	char step[32], *img = NULL, *box, *flag = NULL, *script = NULL, *cwd, *home = NULL, *s;
	bool named = value[T_NAME] != NULL;
	struct passwd *pw = getpwuid(uid);
	int lock, argc = 0;
	char **argv = NULL;

	cwd = fmt("%s", env_of(sp, "PWD") ?: "/");
	if (pw)
		home = fmt("%s", pw->pw_dir);
	if (stepid == SLURM_BATCH_SCRIPT && spank_get_item(sp, S_JOB_ARGV, &argc, &argv) == ESPANK_SUCCESS && argc)
		script = argv[0];
	if (named) {
		char *name = fmt("%s", value[T_NAME]);
		if ((flag = strchr(name, ':')))
			*flag++ = '\0';
		if (!*name || strchr(name, '/')) {
			trouble = fmt("--container-name: invalid name: %s", value[T_NAME]);
			return;
		}
		box = scope_job ? fmt("%s/n.%u.%u.%s", base_dir, uid, jobid, name) : fmt("%s/n.%u.%s", base_dir, uid, name);
	} else {
		box = fmt("%s/c.%u.%s", base_dir, jobid, step_name(step, sizeof step));
	}
	mkdirs(base_dir, 0755);
	lock = open(fmt("%s.lock", box), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
	flock(lock, LOCK_EX);

	if (named && access(box, F_OK) == 0) {
		long pid = 0;
		img = slurp(fmt("%s/image", box));
		chomp(img);
		s = slurp(fmt("%s/pid", box));
		if (s)
			pid = atol(s);
		if (flag && !strcmp(flag, "create")) {
			trouble = fmt("--container-name: the container exists already: %s", value[T_NAME]);
			goto out;
		}
		if (pid > 0 && kill(pid, 0) == 0 && !(flag && !strcmp(flag, "no_exec"))) {
			ns_fd = open(fmt("/proc/%ld/ns/mnt", pid), O_RDONLY | O_CLOEXEC);
			if (value[L_MOUNTS])
				slurm_spank_log("box: ignoring --container-mounts when attaching to a running container");
		}
	} else if (!value[T_IMAGE]) {
		trouble = fmt("a container with name \"%s\" does not exist, and --container-image is not set", value[T_NAME]);
		goto out;
	}
	if (!img) {
		char *why = NULL;
		img = find_image(value[T_IMAGE], &why);
		if (!img) {
			trouble = why;
			goto out;
		}
		mkdirs(box, 0755);
		FILE *f = fopen(fmt("%s/image", box), "we");
		if (f) {
			fprintf(f, "%s\n", img);
			fclose(f);
		}
	}
	image_env = slurp(fmt("%s/env", img));
	image_workdir = slurp(fmt("%s/workdir", img));
	chomp(image_workdir);
	if (ns_fd < 0)
		start_container(box, named, img, cwd, home, script);
out:
	close(lock);
	if (!named)
		unlink(fmt("%s.lock", box));
}

static int remap_root(void)
{
	char *map[3][2] = { { "setgroups", "deny" }, { "uid_map", fmt("0 %u 1", uid) }, { "gid_map", fmt("0 %u 1", gid) } };

	if (uid == 0)
		return 0;
	if (unshare(CLONE_NEWUSER))
		return -1;
	for (int i = 0; i < 3; i++) {
		int fd = open(fmt("/proc/self/%s", map[i][0]), O_WRONLY | O_CLOEXEC);
		if (fd < 0 || write(fd, map[i][1], strlen(map[i][1])) < 0)
			return -1;
		close(fd);
	}
	return 0;
}

/* Keep, use or give up the two capabilities that joining a mount namespace takes. */
static int caps(bool use)
{
	struct __user_cap_header_struct h = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct d[2] = { { 0 }, { 0 } };

	if (use)
		d[0].effective = d[0].permitted = 1u << CAP_SYS_ADMIN | 1u << CAP_SYS_CHROOT;
	return syscall(SYS_capset, &h, d);
}


/* In a task that still has root's capabilities kept for it; -1 with the error printed. */
int join_container(void)
{
	const char *dir = value[T_WORKDIR] ?: image_workdir && *image_workdir ? image_workdir : "/";

	if ((uid && caps(true)) || setns(ns_fd, CLONE_NEWNS) || (uid && caps(false))) {
		slurm_error("box: couldn't join mount namespace: %m");
		return -1;
	}
	prctl(PR_SET_KEEPCAPS, 0);
	prctl(PR_SET_DUMPABLE, 1);	/* /proc/self is the user's again: remap_root writes there */
	if (sw[S_REMAP] == 1 && remap_root()) {
		slurm_error("box: remap to root: %m");
		return -1;
	}
	if (chdir(dir)) {
		slurm_error("box: couldn't chdir to %s: %m", dir);
		return -1;
	}
	return 0;
}

void leave_container(void)
{
	if (ns_fd >= 0)
		close(ns_fd);
	if (life_fd >= 0)
		close(life_fd);		/* the holder leaves, the janitor cleans up */
	ns_fd = life_fd = -1;
}
