/* SPDX-License-Identifier: MIT */
/* A program of somebody else's: detaches what is not mounted, and says whether the error is the kernel's. */
#include <errno.h>
#include <stdio.h>
#include <sys/mount.h>

#include <unmoor/unmoor.h>

int main(void) {
  struct unmoor_detach_result result = UNMOOR_DETACH_RESULT_INIT;
  const int answer = unmoor_detach_with("/nowhere/at/all", MNT_DETACH, NULL, &result);
  const int code = errno;
  unmoor_reap();
  printf("%d %s\n", answer, code == ENOENT || code == EPERM ? "as the kernel" : "not as the kernel");
  return answer == -1 && (code == ENOENT || code == EPERM) ? 0 : 1;
}
