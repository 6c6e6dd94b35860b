/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Rooms that use the same vote slots one after the other (interpose/direct/rooms/room.cpp).
 * Communicators of two out of three processes are made, used for some collectives and freed, each
 * process at its own pace. A room has a number that is free in all its members. A member that frees
 * its communicator gives the number back when all old members have read that its last call had a
 * yes. What happens in such a call is in exchange.pml.
 *
 * Asserted: all members of a room come to the same decision in each call; in the end all numbers
 * have been given back; no process is blocked for ever (invalid end states). With -DBREAK_... a
 * mistake is built in, which must be found (run.py).
 */

#ifndef COMMS
#define COMMS 3
#endif
#ifndef CALLS
#define CALLS 2
#endif
#ifndef NUMBERS
#define NUMBERS 2
#endif
#define PROCESSES 3
#define MEMBERS 2 /* of a communicator: processes 0 and 1, or 0 and 2, or 1 and 2 */
#define SLOTS 2
#define IN(comm, process) ((process) != 2 - ((comm) - 1) % PROCESSES)
#define FIRST(comm) (IN(comm, 0) -> 0 : 1)
#define SECOND(comm) (IN(comm, 2) -> 2 : 1)
#define SLOT(number, process, call) (((number) * PROCESSES + (process)) * SLOTS + (call) % SLOTS)

byte slot_call[NUMBERS * PROCESSES * SLOTS];
bool slot_yes[NUMBERS * PROCESSES * SLOTS];

bool used[PROCESSES * NUMBERS];
byte closing_comm[PROCESSES * NUMBERS]; /* 0: none */
byte closing_taken[PROCESSES * NUMBERS];

/* The collective in which members agree on a number. */
bool offer_used[(COMMS + 1) * PROCESSES * NUMBERS];
byte offer_call[(COMMS + 1) * PROCESSES];
byte arrived[COMMS + 1];

byte decision[(COMMS + 1) * (CALLS + 1)]; /* 0: not yet, 1: no, 2: yes */
byte over;

/* Numbers of freed communicators whose members have all read. */
inline sweep() {
  n = 0;
  do
  :: n < NUMBERS && closing_comm[me * NUMBERS + n] != 0 ->
    atomic {
      left = true;
      j = 0;
      do
      :: j < PROCESSES ->
        left = left && (!IN(closing_comm[me * NUMBERS + n], j) ||
                        slot_call[SLOT(n, j, closing_taken[me * NUMBERS + n] + 1)] > closing_taken[me * NUMBERS + n]);
        j++
      :: else -> break
      od;
      if
      :: left -> used[me * NUMBERS + n] = false; closing_comm[me * NUMBERS + n] = 0
      :: else
      fi
    }
    n++
  :: n < NUMBERS && closing_comm[me * NUMBERS + n] == 0 -> n++
  :: else -> break
  od
}

inline agree() {
  atomic {
    n = 0;
    do
    :: n < NUMBERS -> offer_used[(comm * PROCESSES + me) * NUMBERS + n] = used[me * NUMBERS + n]; n++
    :: else -> break
    od;
    offer_call[comm * PROCESSES + me] = last;
    arrived[comm]++
  }
  (arrived[comm] == MEMBERS);
  atomic {
    number = 0;
    call = 0;
    j = 0;
    do
    :: j < PROCESSES && IN(comm, j) ->
      if
      :: offer_call[comm * PROCESSES + j] > call -> call = offer_call[comm * PROCESSES + j]
      :: else
      fi;
      j++
    :: j < PROCESSES && !IN(comm, j) -> j++
    :: else -> break
    od;
    do
    :: number < NUMBERS &&
       (offer_used[(comm * PROCESSES + FIRST(comm)) * NUMBERS + number] ||
        offer_used[(comm * PROCESSES + SECOND(comm)) * NUMBERS + number]) -> number++
    :: else -> break
    od;
    if
    :: number < NUMBERS -> used[me * NUMBERS + number] = true
    :: else
    fi
#ifdef BREAK_FIRST_CALL
    call = 0
#endif
  }
}

inline say(what) {
  atomic {
    slot_call[SLOT(number, me, call)] = call;
    slot_yes[SLOT(number, me, call)] = what;
    last = (call > last -> call : last)
  }
}

inline vote() {
  if
  :: taken != 0 && call >= taken + SLOTS ->
    j = 0;
    do
    :: j < PROCESSES -> (!IN(comm, j) || slot_call[SLOT(number, j, taken + 1)] > taken); j++
    :: else -> break
    od;
    taken = 0
  :: else
  fi;
  if
  :: yes = true
  :: yes = false
  fi;
  say(yes);
  j = 0;
  do
  :: j < PROCESSES && yes ->
    (!IN(comm, j) || slot_call[SLOT(number, j, call)] >= call);
    atomic {
      yes = !IN(comm, j) || (slot_call[SLOT(number, j, call)] == call && slot_yes[SLOT(number, j, call)])
    }
    j++
  :: else -> break
  od;
  atomic {
    assert(decision[comm * (CALLS + 1) + i] == 0 || decision[comm * (CALLS + 1) + i] == 1 + yes);
    decision[comm * (CALLS + 1) + i] = 1 + yes
  }
  if
  :: yes -> taken = call
  :: else
  fi
}

inline close_room() {
#ifndef BREAK_SILENT
  if
  :: taken != 0 && taken == call -> call++; say(false)
  :: else
  fi;
#endif
#ifdef BREAK_AT_ONCE
  used[me * NUMBERS + number] = false
#else
  atomic {
    if
    :: taken == 0 -> used[me * NUMBERS + number] = false
    :: else -> closing_taken[me * NUMBERS + number] = taken; closing_comm[me * NUMBERS + number] = comm
    fi
  }
#endif
}

proctype Process(byte me) {
  byte comm = 1, call, taken, last, number, i, j, n;
  bool yes, left;
  do
  :: comm <= COMMS && IN(comm, me) ->
    sweep();
    agree();
    taken = 0;
    i = 0;
    do
    :: number < NUMBERS && i < CALLS -> call++; vote(); i++
    :: else -> break
    od;
    if
    :: number < NUMBERS -> close_room()
    :: else
    fi;
    comm++
  :: comm <= COMMS && !IN(comm, me) -> comm++
  :: else -> break
  od;
  over++;
  (over == PROCESSES);
  sweep();
  n = 0;
  do
  :: n < NUMBERS -> assert(!used[me * NUMBERS + n]); n++
  :: else -> break
  od
}

init {
  atomic {
    byte p;
    do
    :: p < PROCESSES -> run Process(p); p++
    :: else -> break
    od
  }
}
