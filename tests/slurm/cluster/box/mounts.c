/* Mounts of a container's root, and those that the user asked for. */
#include "box.h"
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

char *oops;

int overlay(const char *lower, const char *box, const char *part, const char *at)
{
	char *up = fmt("%s/up/%s", box, part), *wk = fmt("%s/wk/%s", box, part);
	char *o;

	mkdirs(up, 0755);
	mkdirs(wk, 0755);
	o = fmt("lowerdir=%s,upperdir=%s,workdir=%s,index=off", lower, up, wk);
	if (mount("overlay", at, "overlay", MS_NODEV | MS_NOSUID, o))
		FAIL("overlay on %s: %m (%s)", at, o);
	return 0;
}

int bind_on(const char *src, const char *dst)
{
	if (mount(src, dst, NULL, MS_BIND | MS_REC, NULL))
		FAIL("bind %s on %s: %m", src, dst);
	return 0;
}

int readonly(const char *at)
{
	if (mount(NULL, at, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV, NULL))
		FAIL("remount %s: %m", at);
	return 0;
}

static void as_user(void)
{
	if (setgroups(ngids, gids) || setegid(gid) || seteuid(uid))
		_exit(99);
}

static void as_root(void)
{
	if (seteuid(0) || setegid(0))
		_exit(99);
}

/* open PATH below ROOT, never leaving it; make it like the source if it is missing */
static int target_fd(const char *root, const char *path, bool dir)
{
	int fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC), next;
	char *copy = fmt("%s", path), *save = NULL;

	for (char *p = strtok_r(copy, "/", &save); p; p = strtok_r(NULL, "/", &save)) {
		bool last = save == NULL || save[strspn(save, "/")] == '\0';

		if (!strcmp(p, "."))
			continue;
		if (!strcmp(p, "..")) {
			errno = EXDEV;
			return -1;
		}
		struct { unsigned long long flags, mode, resolve; } how = { O_PATH | O_CLOEXEC, 0, 0x10 /* IN_ROOT */ };
		next = syscall(SYS_openat2, fd, p, &how, sizeof how);
		if (next < 0 && errno == ENOENT) {
			if (last && !dir) {
				int t = openat(fd, p, O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
				if (t < 0)
					return -1;
				close(t);
			} else if (mkdirat(fd, p, 0755) && errno != EEXIST)
				return -1;
			next = openat(fd, p, O_PATH | O_CLOEXEC);
		}
		if (next < 0)
			return -1;
		close(fd);
		fd = next;
	}
	free(copy);
	return fd;
}

int user_mount(const char *root, const char *spec, const char *cwd)
{
	char *s = fmt("%s", spec), *src = s, *dst, *flags = NULL, *from, *to;
	unsigned long change = 0;
	bool ro = false, tmpfs, detach;
	struct stat st = { .st_mode = S_IFDIR };
	int sfd = -1, dfd;

	if ((dst = strchr(s, ':'))) {
		*dst++ = '\0';
		if ((flags = strchr(dst, ':')))
			*flags++ = '\0';
	} else {
		dst = src;
	}
	for (char *f = flags ? strtok(flags, "+,") : NULL; f; f = strtok(NULL, "+,")) {
		if (!strcmp(f, "ro")) ro = true;
		else if (!strcmp(f, "rw")) ro = false;
		else if (!strcmp(f, "nosuid")) change |= MS_NOSUID;
		else if (!strcmp(f, "nodev")) change |= MS_NODEV;
		else if (!strcmp(f, "noexec")) change |= MS_NOEXEC;
		else if (strcmp(f, "bind") && strcmp(f, "rbind") && strcmp(f, "private") && strcmp(f, "rprivate") &&
			 strcmp(f, "slave") && strcmp(f, "rslave") && strcmp(f, "unbindable") && strcmp(f, "runbindable") &&
			 strncmp(f, "x-", 2) && strncmp(f, "size=", 5) && strncmp(f, "mode=", 5))
			FAIL("--container-mounts: invalid mount option: %s", f);
	}
	tmpfs = !strcmp(src, "tmpfs");
	detach = !strcmp(src, "umount");
	if (!tmpfs && !detach) {
		char *abs = src[0] == '/' ? src : fmt("%s/%s", cwd, src);

		as_user();	/* what the user cannot reach, the user cannot mount */
		sfd = open(abs, O_PATH | O_CLOEXEC);
		int e = errno;
		as_root();
		errno = e;
		if (sfd < 0 && (e == ENOENT || e == ENOTDIR))
			FAIL("--container-mounts: source path does not exist: %s", src);
		if (sfd < 0)
			FAIL("--container-mounts: %s: %m", src);
		fstat(sfd, &st);
	}
	dfd = target_fd(root, dst, S_ISDIR(st.st_mode));
	if (dfd < 0)
		FAIL("--container-mounts: %s: %m", dst);
	from = fmt("/proc/self/fd/%d", sfd);
	to = fmt("/proc/self/fd/%d", dfd);
	if (detach) {
		umount2(to, MNT_DETACH);
	} else if (tmpfs) {
		char *o = fmt("mode=755,uid=%u,gid=%u", uid, gid);
		if (mount("tmpfs", to, "tmpfs", MS_NOSUID | MS_NODEV, o))
			FAIL("--container-mounts: tmpfs on %s: %m", dst);
	} else {
		if (mount(from, to, NULL, MS_BIND | MS_REC, NULL))
			FAIL("--container-mounts: %s on %s: %m", src, dst);
	}
	close(dfd);
	if (!detach && (ro || change)) {	/* through a new fd: the old one is below the mount */
		dfd = target_fd(root, dst, S_ISDIR(st.st_mode));
		to = fmt("/proc/self/fd/%d", dfd);
		if (mount(NULL, to, NULL, MS_REMOUNT | MS_BIND | change | (ro ? MS_RDONLY : 0), NULL))
			FAIL("--container-mounts: flags of %s: %m", dst);
		close(dfd);
	}
	if (sfd >= 0)
		close(sfd);
	return 0;
}
