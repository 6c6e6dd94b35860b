/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Collectives in a room, i.e. on a communicator in shared memory (room.cpp, exchange.cpp and
 * window.cpp in interpose/direct/rooms). Each member first writes its vote into a slot. Then the
 * data go through a window for each pair, which holds fewer pieces than there are. The last process
 * that uses a region, a reader or its owner, frees it. All members send to all, or one to all
 * others. A member that has no free region, or does not want to take part, votes no and goes on at
 * once; then nobody takes part. Each member begins its next call when it has finished this one.
 *
 * Left out: a member that dies, or gives up after the vote (kGaveUp in vote_slot.hpp).
 *
 * Every interleaving is checked, with sequentially consistent memory, as in handover.pml.
 *
 * Asserted: all members come to the same decision in each call; each piece that is read is that of
 * this call, this pair and this place; in the end all regions are free; no process is blocked for
 * ever (invalid end states). With -DBREAK_... a mistake is built in, which must be found (run.py).
 */

#ifndef MEMBERS
#define MEMBERS 2
#endif
#ifndef CALLS
#define CALLS 3
#endif
#ifndef REGIONS
#define REGIONS 1 /* of each member */
#endif
#ifndef PIECES
#define PIECES 2  /* of each rank's data */
#endif
#ifndef ROOTED
#define ROOTED 0  /* in odd calls member 0 gives, and nobody else */
#endif
#ifndef THREADS
#define THREADS 0 /* members read each other's memory, and each has another thread that reserves, too */
#endif
#ifdef BREAK_OWNER_LEAVES
#define USERS (MEMBERS - 1)
#else
#define USERS MEMBERS
#endif
#define GIVES(call, member) (!ROOTED || (call) % 2 == 0 || (member) == 0)
#define WINDOW 1  /* pieces */
#define SLOTS 2
#define NONE 255
#define SLOT(member, call) ((member) * SLOTS + (call) % SLOTS)
#define REGION(member, region) ((member) * REGIONS + (region))
#define LANE(member, region, to) (REGION(member, region) * MEMBERS + (to))
#define PIECE(call, from, to, i) ((((call) * MEMBERS + (from)) * MEMBERS + (to)) * PIECES + (i))

/* Vote slots: call number and vote in one word, and the region of a vote for it. */
byte slot_call[MEMBERS * SLOTS];
bool slot_yes[MEMBERS * SLOTS];
byte slot_region[MEMBERS * SLOTS];

byte window[MEMBERS * REGIONS * MEMBERS];
byte published[MEMBERS * REGIONS * MEMBERS];
byte consumed[MEMBERS * REGIONS * MEMBERS];
byte users[MEMBERS * REGIONS];
bool taken[MEMBERS * REGIONS];

byte decision[CALLS + 1]; /* 0: not yet, 1: no, 2: yes */
byte over;

inline reserve() {
  mine = NONE;
  r = 0;
  do
  :: r < REGIONS && mine == NONE ->
    if
    :: !taken[REGION(me, r)] -> mine = r
    :: else
    fi;
    r++
  :: else -> break
  od;
  if
  :: mine != NONE ->
    atomic {
      taken[REGION(me, mine)] = true;
      users[REGION(me, mine)] = USERS;
      j = 0;
      do
      :: j < MEMBERS -> published[LANE(me, mine, j)] = 0; consumed[LANE(me, mine, j)] = 0; j++
      :: else -> break
      od
    }
  :: else
  fi
}

inline vote() {
  /* A member that has voted in the call after one with a yes has read all votes of that one. */
#ifndef BREAK_NO_READERS
  if
  :: call_taken != 0 && call >= call_taken + SLOTS ->
    j = 0;
    do
    :: j < MEMBERS -> (slot_call[SLOT(j, call_taken + 1)] > call_taken); j++
    :: else -> break
    od;
    call_taken = 0
  :: else
  fi;
#endif
#ifdef BREAK_CALL_FIRST
  atomic { slot_call[SLOT(me, call)] = call; slot_yes[SLOT(me, call)] = yes };
#endif
  slot_region[SLOT(me, call)] = mine;
  atomic { slot_call[SLOT(me, call)] = call; slot_yes[SLOT(me, call)] = yes };
  all = yes;
  j = 0;
  do
  :: j < MEMBERS && all ->
    (slot_call[SLOT(j, call)] >= call);
    atomic {
#ifdef BREAK_AHEAD
      all = slot_yes[SLOT(j, call)] /* who is ahead has said what it says now */
#else
      all = slot_call[SLOT(j, call)] == call && slot_yes[SLOT(j, call)]
#endif
    }
    theirs[j] = slot_region[SLOT(j, call)];
    j++
  :: else -> break
  od;
#ifdef BREAK_OWN_VOTE
  all = yes;
#endif
  atomic {
    assert(decision[call] == 0 || decision[call] == 1 + all);
    decision[call] = 1 + all
  }
}

/* One piece to, or from, some other member. */
inline exchange() {
  atomic {
    left = 0;
    j = 0;
    do
    :: j < MEMBERS ->
      sent[j] = 0;
      got[j] = 0;
      if
      :: j != me && GIVES(call, me) -> left = left + PIECES
      :: else
      fi;
      if
      :: j != me && GIVES(call, j) -> left = left + PIECES
      :: else
      fi;
      j++
    :: else -> break
    od
  }
  do
  :: left == 0 -> break
  :: left > 0 ->
    /* Any member may go on that is not blocked. */
    select (j : 0 .. MEMBERS - 1);
    if
#ifdef BREAK_NO_WINDOW
    :: j != me && GIVES(call, me) && sent[j] < PIECES ->
#else
    :: j != me && GIVES(call, me) && sent[j] < PIECES && sent[j] - consumed[LANE(me, mine, j)] < WINDOW ->
#endif
      window[LANE(me, mine, j)] = PIECE(call, me, j, sent[j]);
      sent[j] = sent[j] + 1;
      published[LANE(me, mine, j)] = sent[j];
      left--
    :: j != me && GIVES(call, j) && got[j] < PIECES && published[LANE(j, theirs[j], me)] > got[j] ->
      assert(window[LANE(j, theirs[j], me)] == PIECE(call, j, me, got[j]));
      got[j] = got[j] + 1;
      consumed[LANE(j, theirs[j], me)] = got[j];
      left--
    :: else
    fi
  od;
#if THREADS
  /* The owner looks at the lanes until all have read. */
  j = 0;
  do
  :: j < MEMBERS && j != me && mine != NONE -> (consumed[LANE(me, mine, j)] == PIECES); j++
  :: j < MEMBERS && (j == me || mine == NONE) -> j++
  :: else -> break
  od
#endif
}

inline leave() {
  j = 0;
  do
  :: j < MEMBERS && j != me && GIVES(call, j) ->
    atomic {
      users[REGION(j, theirs[j])] = users[REGION(j, theirs[j])] - 1;
      last = users[REGION(j, theirs[j])] == 0
    }
#ifdef BREAK_FIRST_READER
    last = true;
#endif
    if
    :: last -> taken[REGION(j, theirs[j])] = false
    :: else
    fi;
    j++
  :: j < MEMBERS && !(j != me && GIVES(call, j)) -> j++
  :: else -> break
  od;
#ifndef BREAK_OWNER_LEAVES
  if
  :: mine != NONE ->
    atomic {
      users[REGION(me, mine)] = users[REGION(me, mine)] - 1;
      last = users[REGION(me, mine)] == 0
    }
    if
    :: last -> taken[REGION(me, mine)] = false
    :: else
    fi
  :: else
  fi
#endif
}

/* A message uses the memory of a free region, and is delivered at once. */
inline send_something() {
  atomic {
    r = 0;
    do
    :: r < REGIONS && !taken[REGION(me, r)] ->
      j = 0;
      do
      :: j < MEMBERS -> window[LANE(me, r, j)] = NONE; j++
      :: else -> break
      od;
      r++
    :: r < REGIONS && taken[REGION(me, r)] -> r++
    :: else -> break
    od
  }
}

/* Another thread of a member uses the memory of a free region, once, at any time. */
proctype Other(byte me) {
  byte j;
  do
  :: atomic {
      !taken[REGION(me, 0)] ->
      do
      :: j < MEMBERS -> window[LANE(me, 0, j)] = NONE; published[LANE(me, 0, j)] = 0; consumed[LANE(me, 0, j)] = 0; j++
      :: else -> break
      od
    }
    break
  :: break
  od
}

proctype Member(byte me) {
  byte call = 1, call_taken = 0, j, r, mine, left;
  byte theirs[MEMBERS], sent[MEMBERS], got[MEMBERS];
  bool yes, all, last;
  do
  :: call <= CALLS ->
    mine = NONE;
    yes = false;
    if
    :: GIVES(call, me) -> reserve(); yes = mine != NONE
    :: !GIVES(call, me) -> yes = true
    :: skip /* for this member the library must do it */
    fi;
    vote();
    if
    :: all -> call_taken = call; exchange(); leave(); send_something()
    :: else ->
      if
      :: mine != NONE -> taken[REGION(me, mine)] = false
      :: else
      fi
    fi;
    call++
  :: else -> break
  od;
  over++;
  (over == MEMBERS);
  r = 0;
  do
  :: r < REGIONS -> assert(!taken[REGION(me, r)]); r++
  :: else -> break
  od
}

init {
  atomic {
    byte m;
    do
    :: m < MEMBERS ->
      run Member(m);
#if THREADS
      run Other(m);
#endif
      m++
    :: else -> break
    od
  }
}
