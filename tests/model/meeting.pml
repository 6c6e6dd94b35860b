/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How the ranks of a node agree in MPI_Init to use shared memory (meeting.cpp and agreement.cpp in
 * interpose/direct/agreement). The first that comes binds a name and is the host; the others, its
 * guests, connect to it. The host waits for all, then for the vote of each, and sends them the
 * result. Only the host has a time limit. Ranks come as late as they like, ABSENT of them never,
 * and up to DEATHS guests die at any time. (A host that dies while it sends the result ends the
 * job.)
 *
 * Asserted: a rank that uses shared memory knows that all ranks have come and voted for it, and no
 * rank that lives goes on without; no process is blocked for ever (invalid end states). With
 * -DBREAK_... a mistake is built in, which must be found (run.py).
 */

#ifndef RANKS
#define RANKS 3
#endif
#ifndef ABSENT
#define ABSENT 0
#endif
#ifndef DEATHS
#define DEATHS 0
#endif
#define NOBODY RANKS

byte host = NOBODY; /* who has bound the name */
byte host_of[RANKS];
byte queue[RANKS]; /* of a host: who has connected and is not accepted yet */
bool has_place[RANKS];
byte vote[RANKS]; /* 0: not yet, 1: no, 2: yes */
byte result[RANKS]; /* as the host has told it: 0: not yet, then as below */
bool closed[RANKS]; /* a host's meeting: what guests then see is its end */
bool dead[RANKS];
byte deaths;
byte decision[RANKS]; /* 0: not yet, 1: without, 2: with shared memory */
byte voted_yes;

inline decide(what) {
  atomic {
    decision[me] = what;
    assert(what != 2 || voted_yes == RANKS);
    r = 0;
    do
    :: r < RANKS ->
      assert(dead[r] || decision[r] == 0 || decision[r] == what);
      r++
    :: else -> break
    od
  }
}

inline perhaps_die() {
  if
  :: atomic { deaths < DEATHS -> deaths++; dead[me] = true }; goto end
  :: skip
  fi
}

inline choose_vote() {
  atomic {
    if
    :: vote[me] = 1
    :: vote[me] = 2; voted_yes++
    fi
  }
}

/* The time limit may pass at any time. */
#ifdef BREAK_NO_LIMIT
#define LIMIT false
#else
#define LIMIT true
#endif

proctype rank(byte me) {
  byte r, other, came = 1;
  bool all = true, is_guest = false;
  atomic {
    if
    :: host == NOBODY -> host = me
    :: else -> host_of[me] = host; queue[host]++; is_guest = true
    fi
  };
  if
  :: is_guest -> goto guest
  :: else -> skip
  fi;

  do
  :: came == RANKS -> break
  :: came < RANKS ->
    if
    :: atomic { queue[me] > 0 -> queue[me]--; came++ }
#ifdef BREAK_SOME
    :: LIMIT -> break
#else
    :: LIMIT -> goto no
#endif
    fi
  od;
  host = NOBODY;
  other = 0;
  do
  :: other < RANKS -> if :: other != me -> has_place[other] = true :: else fi; other++
  :: else -> break
  od;
  choose_vote();
  other = 0;
  do
  :: other < RANKS ->
#ifndef BREAK_NO_VOTE
    if
    :: vote[other] != 0 -> all = all && vote[other] == 2
    :: dead[other] && vote[other] == 0 -> goto no
    :: LIMIT && other != me -> goto no
    fi;
#endif
    other++
  :: else -> break
  od;
  if
  :: all -> decide(2)
  :: else -> decide(1)
  fi;
  other = 0;
  do
  :: other < RANKS -> result[other] = decision[me]; other++
  :: else -> break
  od;
  goto end;

no:
  atomic { if :: host == me -> host = NOBODY :: else fi };
  closed[me] = true;
  decide(1);
  goto end;

guest:
  perhaps_die();
  if
  :: has_place[me] -> skip
  :: closed[host_of[me]] && !has_place[me] -> decide(1); goto end
  fi;
  perhaps_die();
  choose_vote();
  perhaps_die();
  if
  :: result[me] != 0 -> decide(result[me])
  :: closed[host_of[me]] && result[me] == 0 -> decide(1)
#ifdef BREAK_OWN_CLOCK
  :: decide(1)
#endif
  fi;
end:
  skip
}

init {
  byte i = 0;
  atomic {
    do
    :: i < RANKS - ABSENT -> run rank(i); i++
    :: else -> break
    od
  }
}
