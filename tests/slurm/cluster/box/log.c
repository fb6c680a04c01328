/* The log: one line of JSON for each event, appended in one write, since all nodes write to one file. */
#include "box.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int log_fd = -1;
/* One line is written at a time; open_memstream keeps pointers to s and n. */
static struct buf { char *s; size_t n; FILE *f; } b;

static void jstr(FILE *f, const char *s)
{
	fputc('"', f);
	for (; s && *s; s++) {
		unsigned char c = *s;
		if (c == '"' || c == '\\')
			fprintf(f, "\\%c", c);
		else if (c < 0x20)
			fprintf(f, "\\u%04x", c);
		else
			fputc(c, f);
	}
	fputc('"', f);
}

static void jkey(FILE *f, const char *k, const char *v)
{
	fputs(", ", f);
	jstr(f, k);
	fputs(": ", f);
	if (v)
		jstr(f, v);
	else
		fputs("null", f);
}

static void log_open(const char *event)
{
	struct timespec t;
	char host[65] = "", step[32];

	clock_gettime(CLOCK_REALTIME, &t);
	gethostname(host, 64);
	b.f = open_memstream(&b.s, &b.n);
	fprintf(b.f, "{\"event\": \"%s\", \"time\": %ld.%03ld, \"job\": %u, \"step\": \"%s\", \"node\": \"%s\"",
		event, t.tv_sec, t.tv_nsec / 1000000, jobid, step_name(step, sizeof step), host);
}

static void log_close(void)
{
	fputs("}\n", b.f);
	fclose(b.f);
	if (log_fd >= 0 && write(log_fd, b.s, b.n) < 0)
		slurm_verbose("box: log: %m");
	free(b.s);
}

void log_step(spank_t sp)
{
	static const char *const flag[N_SWITCH] = { "mount_home", "remap_root", "entrypoint", "entrypoint_log", "writable" };
	static const char *const text[] = { "image", "workdir", "name", "save" };
	static const char *const list[] = { "mounts", "env", "unshare" };
	static const char *const vars[] = { "SLURM_JOB_NAME", "SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST",
		"SLURM_HET_JOB_ID", "SLURM_HET_JOB_OFFSET", "SLURM_STEP_GPUS", "SLURM_JOB_GPUS", "PWD" };
	uint32_t nodeid = 0, nnodes = 0, local = 0, total = 0;
	uint64_t mem = 0;
	int argc = 0;
	char **argv = NULL;

	log_open("step");
	spank_get_item(sp, S_JOB_NODEID, &nodeid);
	spank_get_item(sp, S_JOB_NNODES, &nnodes);
	spank_get_item(sp, S_JOB_LOCAL_TASK_COUNT, &local);
	spank_get_item(sp, S_JOB_TOTAL_TASK_COUNT, &total);
	spank_get_item(sp, S_STEP_ALLOC_MEM, &mem);
	fprintf(b.f, ", \"uid\": %u, \"nodeid\": %u, \"nnodes\": %u, \"local_tasks\": %u, \"tasks\": %u, \"step_mem\": %llu",
		uid, nodeid, nnodes, local, total, (unsigned long long) mem);
	for (size_t i = 0; i < sizeof vars / sizeof *vars; i++)
		jkey(b.f, vars[i], env_of(sp, vars[i]));
	fputs(", \"argv\": [", b.f);
	if (spank_get_item(sp, S_JOB_ARGV, &argc, &argv) == ESPANK_SUCCESS)
		for (int i = 0; i < argc; i++) {
			fputs(i ? ", " : "", b.f);
			jstr(b.f, argv[i]);
		}
	fputs("], \"container\": ", b.f);
	if (!value[T_IMAGE] && !value[T_NAME]) {
		fputs("null", b.f);
	} else {
		fputs("{\"contained\": true", b.f);
		for (int i = 0; i < L_MOUNTS; i++)
			jkey(b.f, text[i], value[i]);
		for (int i = L_MOUNTS; i < N_VALUE; i++) {
			fprintf(b.f, ", \"%s\": [", list[i - L_MOUNTS]);
			for (const char *p = value[i]; p && *p;) {
				size_t n = strcspn(p, ",");
				char *item = strndup(p, n);
				jstr(b.f, item);
				free(item);
				if (p[n])
					fputs(", ", b.f);
				p += n + (p[n] == ',');
			}
			fputc(']', b.f);
		}
		for (int i = 0; i < N_SWITCH; i++)
			fprintf(b.f, ", \"%s\": %s", flag[i], sw[i] < 0 ? "null" : sw[i] ? "true" : "false");
		fputc('}', b.f);
	}
	log_close();
}

void log_to(const char *path)
{
	log_fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
}

void log_error(const char *why)
{
	log_open("error");
	jkey(b.f, "why", why);
	log_close();
}

void log_exit(uint32_t rank, int status)
{
	log_open("exit");
	fprintf(b.f, ", \"rank\": %u, \"exit\": %d, \"signal\": %d", rank,
		WIFEXITED(status) ? WEXITSTATUS(status) : -1, WIFSIGNALED(status) ? WTERMSIG(status) : 0);
	log_close();
}

void log_end(void)
{
	if (log_fd >= 0)
		close(log_fd);
	log_fd = -1;
}
