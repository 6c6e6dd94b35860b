/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How the nodes of a job agree in MPI_Init on pipelined messages (interpose/direct/agreement). One
 * process of each node speaks for it. They share names at the launcher's name server
 * (MPI_Publish_name, MPI_Lookup_name): each publication and each look-up is one step, and a name
 * that has been published is found until it is withdrawn. The process of node 0 is the root:
 *
 *   root    publishes `begun`, finds `here` of all other nodes, looks up `gone`, publishes `end`
 *           with the decision
 *   others  publish `here`, then look up `end` again and again
 *
 * Each has a time limit, which may pass at any time. For the root the decision is then no. Another
 * node publishes `gone`, then looks up `begun`: where it is not there, nothing will come of the
 * agreement; where it is, the root is there, and the node waits for `end` without a limit.
 *
 * So the root publishes `begun` before it looks up `gone`, and a node publishes `gone` before it
 * looks up `begun`: one of the two finds the other's. When the root finds `here` does not matter.
 *
 * Any nodes are absent (they have no lacuna), the root, too; any say no. With WITHDRAWN 1, names
 * are withdrawn: after a no `end`, then `begun`, at any time; after a yes both, when all nodes have
 * their decision (a later vote of all ranks shows it). Then a node that waits without a limit looks
 * up `begun` after each look-up of `end`. `gone` is never withdrawn. Left out: a name server that
 * fails, and processes that die, with which the launcher ends the job.
 *
 * Asserted: where a node says yes, none is absent, and each that has a decision says yes; no
 * process is blocked for ever (invalid end states). With -DBREAK_... a mistake is built in, which
 * must be found (run.py).
 */

#ifndef NODES
#define NODES 3
#endif
#ifndef WITHDRAWN
#define WITHDRAWN 0
#endif
#define ROOT 0
#define NO 1
#define YES 2

bool absent[NODES];
byte decision[NODES]; /* 0: not yet */
byte decided; /* nodes */

/* The names; 0: not published. */
bool begun, gone;
byte end, here[NODES];

inline decide(me, what) {
  atomic {
    decision[me] = what;
    decided++;
    other = 0;
    do
    :: other < NODES ->
      assert(decision[other] == 0 || decision[other] == what);
      assert(what == NO || !absent[other]);
      other++
    :: else -> break
    od;
    other = 0
  }
}

proctype Root() {
  byte other, node = 1, what = YES;
  bool found;
#ifdef BREAK_GONE_FIRST
  found = gone;
#endif
#ifndef BREAK_BEGUN_LATE
  begun = true;
#endif
  do
  :: node < NODES && what == YES ->
    if
    :: here[node] == YES -> node++
    :: here[node] == NO -> what = NO
    :: what = NO /* the time limit */
    fi
  :: else -> break
  od;
#ifndef BREAK_GONE_UNSEEN
  if
  :: what == YES ->
#ifndef BREAK_GONE_FIRST
    found = gone;
#endif
    if
    :: found -> what = NO
    :: else
    fi
  :: else
  fi;
#endif
#ifdef BREAK_BEGUN_LATE
  begun = true;
#endif
  end = what;
  decide(ROOT, what);
#if WITHDRAWN
  if
  :: what == YES ->
#ifndef BREAK_WITHDRAWN_EARLY
    (decided == NODES)
#endif
  :: else
  fi;
  end = 0;
  begun = false
#endif
}

proctype Node(byte me) {
  byte other, what;
#ifdef BREAK_BEGUN_FIRST
  bool found;
#endif
  if
  :: here[me] = NO; decide(me, NO); goto over
  :: here[me] = YES
  fi;
  if
  :: atomic { end != 0 -> what = end }; decide(me, what); goto over
  :: true /* the time limit */
  fi;
#ifdef BREAK_BEGUN_FIRST
  found = begun;
  gone = true;
  if
  :: !found -> decide(me, NO); goto over
  :: else
  fi;
#else
  gone = true;
#ifdef BREAK_NOT_ASKED
  decide(me, NO);
  goto over;
#endif
#ifdef BREAK_GONE_WITHDRAWN
  if
  :: !begun -> decide(me, NO); gone = false; goto over
  :: else
  fi;
#endif
#ifndef BREAK_NO_LIMIT
  if
  :: !begun -> decide(me, NO); goto over
  :: else
  fi;
#endif
#endif
#if WITHDRAWN && !defined(BREAK_BEGUN_ONCE)
  do
  :: atomic { end != 0 -> what = end }; break
  :: end == 0 ->
    if
    :: !begun -> what = NO; break
    :: begun && end != 0 /* in the next turn */
    fi
  od;
#else
  atomic { end != 0 -> what = end };
#endif
  decide(me, what);
over:
  skip
}

init {
  byte i;
  atomic {
    do
    :: i < NODES ->
      if
      :: i == ROOT -> run Root()
      :: i != ROOT -> run Node(i)
      :: absent[i] = true
      fi;
      i++
    :: else -> break
    od
  }
}
