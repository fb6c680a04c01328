/*
 * There is no image format.  An image is a directory below images=DIR that mkimage.sh makes: name, rootfs/ (laid over
 * the host's own /usr and /etc), env, workdir, mounts and hide.
 */
#include "box.h"
#include <ctype.h>
#include <errno.h>
#include <grp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

char *find_image(const char *image, char **why)
{
	char *dir = NULL, *name, *s;
	const char *want = image;
	struct stat st;

	if (strchr("./", image[0])) {		/* a path on the node: directory or stub file */
		int ws = 0;
		pid_t c = fork();
		if (c == 0)		/* asked as the user, not as root */
			_exit(setgroups(ngids, gids) || setgid(gid) || setuid(uid) || access(image, R_OK) ? 1 : 0);
		while (waitpid(c, &ws, 0) < 0 && errno == EINTR)
			;
		if (ws || stat(image, &st)) {
			*why = fmt("No such file or directory: %s", image);
			return NULL;
		}
		if (S_ISDIR(st.st_mode)) {
			dir = fmt("%s/rootfs", image);
			if (stat(dir, &st) == 0)
				return fmt("%s", image);
			*why = fmt("invalid image format: %s", image);
			return NULL;
		}
		s = S_ISREG(st.st_mode) ? slurp(image) : NULL;
		chomp(s);
		if (!s || strncmp(s, "#box-image ", 11)) {
			*why = fmt("invalid image format: %s", image);
			return NULL;
		}
		want = s + 11;
	}
	if (!strncmp(want, "docker://", 9))
		want += 9;
	name = fmt("%s", want);
	for (char *c = name; *c; c++)
		if (!isalnum((unsigned char) *c) && !strchr("._+-", *c))
			*c = '_';
	dir = fmt("%s/%s", images, name);
	s = fmt("%s/name", dir);
	name = slurp(s);
	chomp(name);
	/* "nvcr.io#a/b" and "nvcr.io/a/b" are different images */
	if (!name || (strcmp(name, want) && !(!strncmp(name, "docker://", 9) && !strcmp(name + 9, want)))) {
		*why = fmt("failed to import docker image: %s", image);
		return NULL;
	}
	return dir;
}
