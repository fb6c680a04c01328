/* Strings, files and names. */
#include "box.h"
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

char *fmt(const char *f, ...)
{
	char *s = NULL;
	va_list ap;

	va_start(ap, f);
	if (vasprintf(&s, f, ap) < 0)
		abort();
	va_end(ap);
	return s;
}

/* Is item one of the comma-separated items of list? */
bool listed(const char *list, const char *item, size_t n)
{
	for (const char *p = list; p && *p;) {
		size_t m = strcspn(p, ",");
		if (m == n && !strncmp(p, item, n))
			return true;
		p += m + (p[m] == ',');
	}
	return false;
}

char *slurp(const char *path)
{
	FILE *f = fopen(path, "re");
	char *s = NULL;
	size_t n = 0;

	if (!f)
		return NULL;
	if (getdelim(&s, &n, '\0', f) < 0) {
		free(s);
		s = fmt("%s", "");
	}
	fclose(f);
	return s;
}

void chomp(char *s)
{
	if (s)
		s[strcspn(s, "\n")] = '\0';
}

void mkdirs(const char *path, mode_t mode)
{
	char *p = fmt("%s", path);

	for (char *q = p + 1; *q; q++)
		if (*q == '/') {
			*q = '\0';
			mkdir(p, mode);
			*q = '/';
		}
	mkdir(p, mode);
	free(p);
}

char *env_of(spank_t sp, const char *name)
{
	static char v[PATH_MAX];
	return spank_getenv(sp, name, v, sizeof v) == ESPANK_SUCCESS ? v : NULL;
}

const char *step_name(char *buf, size_t n)
{
	switch (stepid) {
	case SLURM_BATCH_SCRIPT: return "batch";
	case SLURM_EXTERN_CONT: return "extern";
	case SLURM_INTERACTIVE_STEP: return "interactive";
	}
	snprintf(buf, n, "%u", stepid);
	return buf;
}
