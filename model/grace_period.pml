/* SPDX-License-Identifier: MIT
 *
 * The grace periods of src/rcu (rcu.h has the argument): readers whose stores wait in a store buffer, updaters that
 * replace an object, wait for a grace period, and free the old one. check.sh compiles it once as it is, and once for
 * each fault.
 *
 *   faults: NO_BARRIER    the updater scans without membarrier before
 *           JOIN_RUNNING  a caller takes the grace period that is running for its own
 *           ONE_BIT       a phase in place of a number, and still only one scan
 *           LATE_NUMBER   the compiler moves the reader's store of its number behind its loads
 *
 * Promise: no reader uses a freed object.
 *
 * Memory order: a reader's stores become visible late, in order (x86's store buffer), unless a barrier flushes them:
 * the one that membarrier runs on every CPU. Loads are in order: on x86 by nature, elsewhere the acquire load of
 * `newest` and the release stores of `state` make them so. The updater's own accesses are atomic read-modify-writes
 * or made under the mutex.
 */

#ifndef READERS
#define READERS 2
#endif
#ifndef SECTIONS
#define SECTIONS 2
#endif
#ifndef UPDATERS
#define UPDATERS 2
#endif
#ifndef UPDATES
#define UPDATES 1
#endif

#ifndef KINDS
#define KINDS 1 /* 2: one updater asks for normal grace periods, the other for expedited ones */
#endif

#define OBJECTS 5 /* 1 + UPDATERS * UPDATES, at least */

byte shared;          /* the object that readers find */
byte last_object;     /* given out so far */
bool freed[OBJECTS];

bool mutex;
byte newest = 1, completed = 1;
bool running[KINDS];

byte state[READERS]; /* what the scan sees */
chan buffer[READERS] = [2] of { byte };

#ifdef ONE_BIT
#define number_of(n) (1 + (n) % 2)
#define is_quiescent(s, n) ((s) == 0 || (s) == number_of(n))
#else
#define number_of(n) (n)
#define is_quiescent(s, n) ((s) == 0 || (s) >= (n))
#endif

proctype Reader(byte me) {
  byte number, object, sections;
  do
  :: sections < SECTIONS ->
    sections++;
#ifdef LATE_NUMBER
    object = shared;
    buffer[me]!number_of(newest);
#else
    number = number_of(newest);
    buffer[me]!number;
    object = shared;
#endif
    printf("reader %d: enters with number %d, finds object %d\n", me, number, object);
    assert(!freed[object]);
    buffer[me]!0;
    printf("reader %d: leaves\n", me);
    number = 0;
    object = 0
  :: else -> break
  od
}

/* Lets a reader's stores out, whenever it likes. */
proctype StoreBuffer(byte me) {
  byte value;
end:
  do
  :: atomic { buffer[me]?value -> state[me] = value; value = 0 }
  od
}

/* Every CPU runs a full fence: the newest store of each reader becomes visible, and so do those before it. */
inline heavy_barrier() {
  d_step {
    at = 0;
    do
    :: at < READERS ->
      do
      :: buffer[at]?value -> state[at] = value
      :: empty(buffer[at]) -> break
      od;
      at++
    :: else -> break
    od;
    value = 0;
    at = 0
  }
}

inline lock() { atomic { !mutex -> mutex = true } }
inline unlock() { mutex = false }

proctype Updater(byte me) {
  byte old, target, number, at, value, updates;
  byte kind = me % KINDS;
  do
  :: updates < UPDATES ->
    updates++;
    d_step {
      old = shared;
      last_object++;
      shared = last_object;
      printf("updater %d: replaces object %d by %d\n", me, old, last_object)
    }
    lock();
#ifdef JOIN_RUNNING
    target = (running[kind] -> newest : newest + 1);
#else
    target = newest + 1;
#endif
    do
    :: completed >= target -> break
    :: else ->
      if
      :: running[kind] ->
        unlock();
        printf("updater %d: waits for number %d\n", me, target);
        !running[kind] || completed >= target;
        lock()
      :: else ->
        running[kind] = true;
        number = newest + 1;
        newest = number;
        printf("updater %d: begins grace period %d\n", me, number);
        unlock();
#ifndef NO_BARRIER
        heavy_barrier();
#endif
        at = 0;
        do
        :: at < READERS ->
          is_quiescent(state[at], number);
          at++
        :: else -> break
        od;
        at = 0;
        lock();
        running[kind] = false;
        completed = (completed < number -> number : completed);
        printf("updater %d: ends grace period %d\n", me, number);
        number = 0
      fi
    od;
    unlock();
    printf("updater %d: frees object %d\n", me, old);
    freed[old] = true;
    old = 0;
    target = 0
  :: else -> break
  od
}

init {
  byte i;
  atomic {
    do
    :: i < READERS -> run Reader(i); run StoreBuffer(i); i++
    :: else -> break
    od;
    i = 0;
    do
    :: i < UPDATERS -> run Updater(i); i++
    :: else -> break
    od
  }
}
