/* SPDX-License-Identifier: MIT
 *
 * The unlock path of the tree (src/tree: namespace_lock, put, release_*, walk) as one mount lives it: one umounter,
 * plain or lazy; a holder that copies its pin from one shard to the other and drops it; walkers that try to turn what
 * they found into a pin; the pool; and whoever frees the memory. check.sh compiles it once for each policy and once
 * for each fault, and Spin visits every interleaving.
 *
 *   SYNCHRONOUS | SKIP_WAIT | DEFERRED | ON_DEMAND       the policy, one of them
 *   WALKERS=n          walkers (default 1)
 *   IDLE_CHECK         also: a lazy umount of what nobody else held has shut it down when it returns
 *   faults: UNSPLIT    one signed count a shard in place of gets and puts
 *           AT_MOST_2  on demand takes a count of 2 for "nobody else"
 *           TAKEOVER_AT_MOST_2 a holder takes the release over from the pool while another still holds
 *           TAKEOVER_KEPT     a holder that takes the release over leaves it on the pool's list too
 *           IN_CALLBACK       the release runs in the RCU callback, which interrupts a CPU
 *           FLAG_OUTSIDE_LOCK a walker reads kSyncUmount before it takes the mount lock
 *           NO_WALKER_FENCE   the walker's get may wait in its store buffer while it reads the sequence
 *           NO_UMOUNT_FENCE   the umounter's change of the sequence may wait while it sums
 *
 * Promises:
 *   no use after free    who has a pin never finds the filesystem shut down; who is inside a read section never finds
 *                        the memory freed
 *   exactly one shutdown
 *   no leak              when everybody is done: still mounted, or shut down and freed
 *   plain                a plain umount that succeeds has shut the filesystem down when it returns
 *   idle                 IDLE_CHECK
 *
 * What is abstract: the namespace lock (there is one umounter), the path walk (one lookup under the sequence count),
 * grace periods (grace_period.pml has them), and memory order but where a fault names it: counts, sequence and ns are
 * sequentially consistent or ordered by the mount lock in the code.
 */

#ifndef WALKERS
#define WALKERS 1
#endif

#define HOLDER 1 /* bits of read sections; the walkers' are 2, 4 */
#define UMOUNTER_GP 0
#define POOL_GP 1
#define FREE_GP 2

mtype = { umounter, holder, walker, pool };

byte inside;    /* who is in a read section */
byte awaits[3]; /* for whom each grace period waits */

bool mount_lock;
byte sequence;
bool in_ns = true, hashed = true;
bool sync_umount, doomed, deferred; /* Mount::flags */
#ifdef UNSPLIT
short counts[2];
#else
byte gets[2], puts[2];
#endif

byte shutdowns;
bool freed;
bool work, retired; /* for the pool; for whoever frees */
bool idle;          /* nobody else had a reference since the umount began */
bool interrupted;   /* by a callback that runs on the holder's CPU */
byte pending;       /* gets that are still in a store buffer (NO_WALKER_FENCE) */
bool sequence_pending; /* NO_UMOUNT_FENCE */

#ifdef IN_CALLBACK
#define ON_CPU provided(!interrupted)
#else
#define ON_CPU
#endif

inline read_lock(bit_) { inside = inside | bit_ }

inline read_unlock(bit_) {
  d_step {
    inside = inside & ~bit_;
    awaits[0] = awaits[0] & ~bit_;
    awaits[1] = awaits[1] & ~bit_;
    awaits[2] = awaits[2] & ~bit_
  }
}

inline grace_period(which) {
  awaits[which] = inside;
  awaits[which] == 0
}

inline lock() { atomic { !mount_lock -> mount_lock = true } }
inline unlock() { mount_lock = false }

/* A reference more; whoever takes one while the umount runs has seen to it that the mount is not idle. */
inline get(shard) {
  d_step {
    assert(!freed);
#ifdef UNSPLIT
    counts[shard] = counts[shard] + 1;
#else
    gets[shard]++;
#endif
    idle = false
  }
}

inline uncount(shard) {
  d_step {
    assert(!freed);
#ifdef UNSPLIT
    counts[shard] = counts[shard] - 1
#else
    puts[shard]++
#endif
  }
}

/* Into n; each shard is a step of its own. */
inline sum() {
#ifdef UNSPLIT
  n = counts[0];
  n = n + counts[1];
#else
  n = 0 - puts[0];
  n = n - puts[1];
  n = n + gets[0];
  n = n + gets[1];
#endif
}

/* The last reference is gone: outside the lock, whoever saw it runs the shutdown. */
inline doom() { d_step { doomed = true; mine = true } }

inline finish(who) {
  if
  :: mine ->
    atomic {
      printf("%e: runs shutdown()\n", who);
      assert(shutdowns == 0);
      shutdowns++;
      retired = true;
      mine = false
    }
  :: else
  fi
}

inline put(who, bit_, shard) {
  read_lock(bit_);
  if
  :: in_ns ->
    printf("%e: put sees the mount in its namespace, so this is not the last reference\n", who);
    uncount(shard);
    printf("%e: has counted down, and looks at nothing else\n", who);
    read_unlock(bit_)
  :: else ->
    read_unlock(bit_);
    lock();
    printf("%e: put takes the mount lock\n", who);
    uncount(shard);
    sum();
    printf("%e: put finds %d left\n", who, n);
    if
#ifdef ON_DEMAND
#ifdef TAKEOVER_AT_MOST_2
    :: deferred && n <= 2 ->
#else
    :: deferred && n == 1 ->
#endif
      printf("%e: finds %d left, one of them the pool's: takes the release over\n", who, n);
#ifndef TAKEOVER_KEPT
      deferred = false;
#endif
      uncount(0);
      doom()
    :: !deferred && n == 0 && !doomed -> doom()
    :: else
#else
    :: n == 0 && !doomed -> doom()
    :: else
#endif
    fi;
    n = 0;
    unlock();
    finish(who)
  fi
}

/* The tree's reference is given up. */
inline put_of_the_tree(who) {
  lock();
  uncount(0);
  sum();
  printf("%e: drops the tree's reference, and finds %d left\n", who, n);
  if
  :: n == 0 && !doomed -> doom()
  :: else
  fi;
  n = 0;
  unlock();
  finish(who)
}

inline release_after_grace_period() {
  printf("umounter: waits for a grace period\n");
  grace_period(UMOUNTER_GP);
  put_of_the_tree(umounter)
}

proctype Umounter() {
  short n;
  bool lazy, mine;
  atomic {
    if
    :: lazy = true; printf("umounter: umount -l\n")
    :: lazy = false; printf("umounter: umount\n")
    fi;
    /* Others' references of now; what comes later says so in get(). */
#ifdef UNSPLIT
    idle = (counts[0] + counts[1] == 1)
#else
    idle = (gets[0] + gets[1] - puts[0] - puts[1] == 1)
#endif
  }
  lock();
#ifdef NO_UMOUNT_FENCE
  sequence_pending = true;
#else
  sequence++;
#endif
  if
  :: !lazy ->
    sum();
    printf("umounter: counts %d references\n", n);
    if
    :: n > 1 ->
      n = 0;
#ifndef NO_UMOUNT_FENCE
      sequence++;
#endif
      unlock();
      printf("umounter: EBUSY\n");
      goto returned
    :: else
    fi;
    n = 0;
    sync_umount = true
  :: else
  fi;
  hashed = false;
  in_ns = false;
  printf("umounter: the mount is in no namespace\n");
#ifndef NO_UMOUNT_FENCE
  sequence++;
#endif
  unlock();

#ifdef SYNCHRONOUS
  release_after_grace_period();
#endif
#ifdef SKIP_WAIT
  if
  :: lazy -> put_of_the_tree(umounter)
  :: else -> release_after_grace_period()
  fi;
#endif
#ifdef DEFERRED
  if
  :: lazy -> printf("umounter: leaves it to the pool\n"); work = true
  :: else -> release_after_grace_period()
  fi;
#endif
#ifdef ON_DEMAND
  lock();
  sum();
  printf("umounter: counts %d references\n", n);
  if
#ifdef AT_MOST_2
  :: n <= 2 ->
#else
  :: n == 1 ->
#endif
    n = 0;
    uncount(0);
    doom();
    unlock();
    finish(umounter)
  :: else ->
    n = 0;
    if
    :: lazy ->
      printf("umounter: leaves it to the pool\n");
      deferred = true;
      work = true;
      unlock()
    :: else ->
      unlock();
      release_after_grace_period()
    fi
  fi;
#endif
  printf("umounter: returns\n");
  assert(lazy || shutdowns == 1);
#ifdef IDLE_CHECK
  assert(!idle || shutdowns == 1);
#endif
returned:
  skip
}

/* Waits out the grace period for what a lazy umount left to it. */
#if defined(DEFERRED) || defined(ON_DEMAND)
proctype Pool() {
  short n;
  bool mine;
end:
  work;
  work = false;
  printf("pool: waits for a grace period\n");
  grace_period(POOL_GP);
#ifdef IN_CALLBACK
  printf("pool: its callback interrupts the holder's CPU\n");
  interrupted = true;
#endif
  lock();
  if
#ifdef ON_DEMAND
  :: !deferred -> unlock() /* a holder took it over */
#endif
  :: else ->
    deferred = false;
    uncount(0);
    sum();
    printf("pool: drops the tree's reference, and finds %d left\n", n);
    if
    :: n == 0 && !doomed -> doom()
    :: else
    fi;
    n = 0;
    unlock();
    finish(pool)
  fi;
  interrupted = false
}
#endif

/* The memory is retired: freed after a grace period. */
proctype Reclaimer() {
end:
  retired;
  grace_period(FREE_GP);
  freed = true;
  printf("the memory is freed\n")
}

/* Has a pin, copies it to another shard as a thread does that has migrated, and drops both. */
proctype Holder(byte from; byte to) ON_CPU {
  short n;
  bool mine;
  get(to);
  printf("holder: copies its pin: got on shard %d\n", to);
  put(holder, HOLDER, from);
  assert(shutdowns == 0); /* it still holds the copy */
  put(holder, HOLDER, to)
}

proctype Walker(byte bit_) {
  short n;
  bool mine;
  bool just_uncount;
  byte seen;
  read_lock(bit_);
  seen = sequence;
  if
  :: seen % 2 == 1 || !hashed -> goto out
  :: else
  fi;
  printf("walker: finds the mount\n");
#ifdef NO_WALKER_FENCE
  d_step { pending = pending + 1; idle = false };
#else
  get(1);
#endif
  if
  :: sequence == seen ->
    read_unlock(bit_);
    printf("walker: the sequence has not changed: has a pin\n");
    assert(shutdowns == 0 && !freed);
#ifdef NO_WALKER_FENCE
    pending == 0; /* a thread's own stores stay in order */
#endif
    put(walker, bit_, 0)
  :: else ->
    printf("walker: the sequence has changed\n");
#ifdef NO_WALKER_FENCE
    pending == 0; /* the lock is a fence */
#endif
#ifdef FLAG_OUTSIDE_LOCK
    just_uncount = sync_umount || doomed;
    lock();
#else
    lock();
    just_uncount = sync_umount || doomed;
#endif
    if
    :: just_uncount ->
      uncount(0);
      just_uncount = false;
      printf("walker: leaves the last put to the umounter\n");
      unlock();
      read_unlock(bit_)
    :: else ->
      unlock();
      read_unlock(bit_);
      put(walker, bit_, 0)
    fi
  fi;
  goto done;
out:
  read_unlock(bit_);
done:
  skip
}

#if defined(NO_WALKER_FENCE) || defined(NO_UMOUNT_FENCE)
/* Lets stores out, whenever it likes. */
proctype StoreBuffers() {
end:
  do
  :: atomic { pending > 0 -> gets[1]++; pending--; printf("the walker's get becomes visible\n") }
  :: atomic { sequence_pending -> sequence = 2; sequence_pending = false; printf("the sequence becomes visible\n") }
  od
}
#endif

/* When nobody can move any more. */
proctype AtTheEnd() {
  timeout;
  printf("everybody is done: shutdowns %d, in a namespace %d, freed %d\n", shutdowns, in_ns, freed);
  assert(in_ns || shutdowns == 1);
  assert(in_ns || freed);
  assert(!in_ns || shutdowns == 0)
}

init {
  atomic {
    /* The tree's reference is on shard 0. */
#ifdef UNSPLIT
    counts[0] = 1;
#else
    gets[0] = 1;
#endif
    if
    :: true
    :: true -> get(0); run Holder(0, 1)
    :: true -> get(1); run Holder(1, 0)
    fi;
    run Umounter();
#if defined(DEFERRED) || defined(ON_DEMAND)
    run Pool();
#endif
    run Walker(2);
#if WALKERS > 1
    run Walker(4);
#endif
    run Reclaimer();
#if defined(NO_WALKER_FENCE) || defined(NO_UMOUNT_FENCE)
    run StoreBuffers();
#endif
#ifndef IN_CALLBACK /* there Spin's own check for a deadlock must speak */
    run AtTheEnd()
#endif
  }
}
