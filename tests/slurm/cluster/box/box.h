/* What the files of the plugin share.  Nothing but SPANK's own entry points is visible outside the library. */
#ifndef BOX_H
#define BOX_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#pragma GCC visibility push(default)
#include <slurm/slurm.h>
#include <slurm/spank.h>
#pragma GCC visibility pop

/* options.c: what srun or sbatch was given */
enum { S_HOME, S_REMAP, S_ENTRY, S_ENTRYLOG, S_WRITE, N_SWITCH };
enum { T_IMAGE, T_WORKDIR, T_NAME, T_SAVE, L_MOUNTS, L_ENV, L_UNSHARE, N_VALUE };
extern char *value[N_VALUE];	/* a text as given; the items of a list joined with "," */
extern int sw[N_SWITCH];	/* 1, 0, or -1: not given */
int register_options(spank_t sp);
void warn_without_container(void);

/* plugin.c: the plugin's arguments, and the step that it works for */
extern const char *images;	/* directory of the images */
extern bool default_writable, scope_job, pytorch_hook;
extern uid_t uid;
extern gid_t gid;
extern gid_t *gids;
extern int ngids;
extern uint32_t jobid, stepid;

/* text.c */
char *fmt(const char *f, ...) __attribute__((format(printf, 1, 2)));
bool listed(const char *list, const char *item, size_t n);
char *slurp(const char *path);
void chomp(char *s);
void mkdirs(const char *path, mode_t mode);
char *env_of(spank_t sp, const char *name);	/* valid until the next call */
const char *step_name(char *buf, size_t n);

/* log.c: one line of JSON for each event */
void log_to(const char *path);
void log_step(spank_t sp);
void log_error(const char *why);
void log_exit(uint32_t rank, int status);
void log_end(void);

/* image.c: the directory of an image, or NULL with *why set */
char *find_image(const char *image, char **why);

/* mounts.c: -1 with oops set, or 0 */
extern char *oops;
#define FAIL(...) do { oops = fmt(__VA_ARGS__); return -1; } while (0)
int overlay(const char *lower, const char *box, const char *part, const char *at);
int bind_on(const char *src, const char *dst);
int readonly(const char *at);
int user_mount(const char *root, const char *spec, const char *cwd);

/* build.c: in a process of its own, everything from unshare to pivot_root; -1 with oops set, or 0 */
int build(const char *box, const char *img, const char *cwd, const char *home, const char *script);

/* container.c: the container of this step on this node */
extern char *trouble;		/* why no task may start */
extern char *image_env, *image_workdir;
void set_up(spank_t sp);
int join_container(void);
void leave_container(void);

/* environment.c */
void set_environment(spank_t sp);

#endif
