/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The hand-over of payloads through a region of the sender's arena (interpose/direct): reserve,
 * token, pieces that are published while the receiver follows, the receiver's mark, reuse by other
 * messages; where no region is free, the message goes as a whole, by the library. Two threads of a
 * rank send, a rank receives: whatever comes first (wildcards), or the next message of one thread
 * (its tag), for which it waits while others lie in the queue. Probes and cancelled sends are not in
 * it.
 *
 * Every interleaving is looked at, memory being sequentially consistent: what is written before a
 * store with release and read after a load with acquire (payload and `published`, payload and
 * `done`) is in that order here as it is there.
 *
 * What is asserted: each message arrives once, whole, with its own bytes, in the order in which its
 * thread sent it; no piece is written over one that is yet to be read; nobody waits for ever
 * (invalid end states). With -DBREAK_... a mistake is built in, which must be found (run.py).
 */

#ifndef SENDERS
#define SENDERS 2  /* threads of the sending rank */
#endif
#ifndef MESSAGES
#define MESSAGES 2 /* of each thread */
#endif
#ifndef REGIONS
#define REGIONS 2  /* less than there are messages */
#endif
#define PIECES 2   /* of each payload */
#define ALL (SENDERS * MESSAGES)
#define NONE 255

/* The arena. A piece holds the number of the message whose bytes it has. */
byte piece[REGIONS * PIECES] = NONE;
byte published[REGIONS];
bool done[REGIONS] = true;  /* no receiver needs it */
bool out[REGIONS];          /* in the sender's list, until a sweep finds it done */
bool locked;                /* of that list */

/* The library: a queue for each thread's tag, and which tag came first. A message is its number and
 * the region of its payload; NONE: the payload is in it. */
chan wire[SENDERS] = [MESSAGES] of { byte, byte };
chan arrival = [ALL] of { byte };

byte arrived[ALL];
byte senders_over;

inline sweep() {
  r = 0;
  do
  :: r < REGIONS ->
    if
    :: out[r] && done[r] -> out[r] = false
    :: else
    fi;
    r++
  :: else -> break
  od
}

/* First room, or none: nothing waits for it. */
inline reserve() {
  atomic { !locked -> locked = true }
#ifdef BREAK_NO_LOCK
  locked = false;
#endif
  sweep();
  mine = NONE;
  r = 0;
  do
  :: r < REGIONS && mine == NONE ->
    if
    :: !out[r] -> mine = r
    :: else
    fi;
    r++
  :: else -> break
  od;
  if
  :: mine != NONE ->
    out[mine] = true;
    published[mine] = 0;
    done[mine] = false
  :: else
  fi;
  locked = false
}

/* Packs and publishes piece by piece. */
inline publish() {
  p = 0;
  do
  :: p < PIECES ->
#ifdef BREAK_PUBLISH_FIRST
    published[mine] = p + 1;
#endif
    piece[mine * PIECES + p] = number;
#ifndef BREAK_PUBLISH_FIRST
    published[mine] = p + 1;
#endif
    p++
  :: else -> break
  od
}

proctype Sender(byte me) {
  byte i, r, p, mine, number;
  do
  :: i < MESSAGES ->
    number = me * MESSAGES + i;
    reserve();
#ifdef BREAK_WAIT_FOR_ROOM
    do
    :: mine == NONE -> (done[0] || done[REGIONS - 1]); reserve()
    :: else -> break
    od;
#endif
    if
    :: mine == NONE -> atomic { wire[me] ! number, NONE; arrival ! me }
    :: else ->
      if
      /* A synchronous send packs before the call, others after it. */
      :: publish(); atomic { wire[me] ! number, mine; arrival ! me }
      :: atomic { wire[me] ! number, mine; arrival ! me }; publish()
      fi
    fi;
    i++
  :: else -> break
  od;
  senders_over++
}

/* What a receive has matched: `number` from `region`. */
inline take() {
  if
  :: region == NONE -> skip  /* the library has brought all of it */
  :: else ->
#ifdef BREAK_FREE_FIRST
    done[region] = true;
#endif
    p = 0;
    do
    :: p < PIECES ->
#ifndef BREAK_NO_WAIT
      (published[region] > p);
#endif
      assert(piece[region * PIECES + p] == number);
      p++
    :: else -> break
    od;
#if !defined(BREAK_FREE_FIRST) && !defined(BREAK_NEVER_FREE)
    done[region] = true
#endif
  fi;
  assert(number == from * MESSAGES + next[from]);
  next[from] = next[from] + 1;
  arrived[number] = arrived[number] + 1;
  assert(arrived[number] == 1)
}

proctype Receiver() {
  byte n, p, from, number, region;
  byte next[SENDERS];
  do
  :: n < ALL ->
    if
    :: atomic { arrival ? from; wire[from] ? number, region }
    :: next[0] < MESSAGES -> from = 0;
       atomic { wire[0] ? number, region; arrival ?? eval(from) }
    :: next[SENDERS - 1] < MESSAGES -> from = SENDERS - 1;
       atomic { wire[SENDERS - 1] ? number, region; arrival ?? eval(from) }
    fi;
    take();
    n++
  :: else -> break
  od;
  /* All is over: every region is free, or will be at the next sweep. */
  (senders_over == SENDERS);
  p = 0;
  do
  :: p < REGIONS -> assert(!out[p] || done[p]); p++
  :: else -> break
  od
}

init {
  atomic {
    byte s;
    do
    :: s < SENDERS -> run Sender(s); s++
    :: else -> break
    od;
    run Receiver()
  }
}
