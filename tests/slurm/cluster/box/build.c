/* Building a container's root file system. */
#include "box.h"
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* The entries of `list`, which is taken apart, between `separators`. */
static int mount_each(const char *root, char *list, const char *separators, const char *cwd)
{
	/* strtok in user_mount works on its own copy; keep our place with strtok_r */
	for (char *save, *p = list ? strtok_r(list, separators, &save) : NULL; p; p = strtok_r(NULL, separators, &save))
		if (user_mount(root, p, cwd))
			return -1;
	return 0;
}

int build(const char *box, const char *img, const char *cwd, const char *home, const char *script)
{
	static const char *const links[] = { "bin", "sbin", "lib", "lib32", "lib64", "libx32" };
	static const char *const dirs[] = { "usr", "etc", "proc", "sys", "dev", "tmp", "run", "var/tmp", "var/lib", "var/log",
		"var/cache", "home", "root", "mnt", "opt", "srv", "media" };
	char *root = fmt("%s/r", box), *up = fmt("%s/up/root", box), *s;
	bool writable = sw[S_WRITE] < 0 ? default_writable : sw[S_WRITE];

	umask(022);
	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL))
		FAIL("mount namespace: %m");
	mkdirs(root, 0755);
	for (size_t i = 0; i < sizeof dirs / sizeof *dirs; i++)
		mkdirs(fmt("%s/%s", up, dirs[i]), 0755);
	chmod(fmt("%s/var/tmp", up), 01777);
	if (symlink("../run", fmt("%s/var/run", up)) && errno != EEXIST)
		FAIL("var/run: %m");
	for (size_t i = 0; i < sizeof links / sizeof *links; i++) {
		char to[64];
		ssize_t n = readlink(fmt("/%s", links[i]), to, sizeof to - 1);
		if (n > 0) {
			to[n] = '\0';
			if (symlink(to, fmt("%s/%s", up, links[i])) && errno != EEXIST)
				FAIL("%s: %m", links[i]);
		}
	}
	if (chown(up, uid, gid))
		FAIL("chown: %m");
	/* host paths that this image does not have */
	s = slurp(fmt("%s/hide", img));
	for (char *save, *p = s ? strtok_r(s, "\n", &save) : NULL; p; p = strtok_r(NULL, "\n", &save)) {
		char *at, *slash;
		if (strncmp(p, "/usr/", 5) && strncmp(p, "/etc/", 5))
			continue;
		at = fmt("%s/up%s", box, p);
		slash = strrchr(at, '/');
		*slash = '\0';
		mkdirs(at, 0755);
		*slash = '/';
		mknod(at, S_IFCHR, makedev(0, 0));
	}
	if (overlay(fmt("%s/rootfs", img), box, "root", root))
		return -1;
	for (int i = 0; i < 2; i++) {
		const char *d = i ? "etc" : "usr";
		char *own = fmt("%s/rootfs/%s", img, d), *mask = fmt("%s/.mask/%s", images, d), *l = fmt("/%s", d);
		if (access(mask, F_OK) == 0)
			l = fmt("%s:%s", mask, l);
		if (access(own, F_OK) == 0)
			l = fmt("%s:%s", own, l);
		if (overlay(l, box, d, fmt("%s/%s", root, d)))
			return -1;
	}
	if (bind_on("/proc", fmt("%s/proc", root)) || bind_on("/sys", fmt("%s/sys", root)) ||
	    bind_on("/dev", fmt("%s/dev", root)))
		return -1;
	if (mount("tmpfs", fmt("%s/tmp", root), "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777") ||
	    mount("tmpfs", fmt("%s/run", root), "tmpfs", MS_NOSUID | MS_NODEV, "mode=755"))
		FAIL("tmpfs: %m");
	if (sw[S_HOME] == 1 && home) {
		char *to = sw[S_REMAP] == 1 ? "/root" : (char *) home;
		if (user_mount(root, fmt("%s:%s", home, to), cwd))
			return -1;
	}
	if (script && user_mount(root, fmt("%s:%s:ro", script, script), cwd))
		return -1;
	s = slurp(fmt("%s/mounts", img));	/* as an image's own /etc/fstab is for enroot */
	if (mount_each(root, s, "\n", cwd))
		return -1;
	s = value[L_MOUNTS] ? fmt("%s", value[L_MOUNTS]) : NULL;
	if (mount_each(root, s, ",", cwd))
		return -1;
	if (!writable && (readonly(root) || readonly(fmt("%s/usr", root)) || readonly(fmt("%s/etc", root))))
		return -1;
	if (chdir(root) || syscall(SYS_pivot_root, ".", ".") || umount2(".", MNT_DETACH) || chdir("/"))
		FAIL("pivot_root: %m");
	return 0;
}
