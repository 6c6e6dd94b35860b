/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Rooms that use the same seats one after the other (interpose/direct/rooms/room.cpp).
 * Communicators of two out of three processes are made, used for some collectives and freed, each
 * process at its own pace. A room has a number that is free in all its members. A member that frees
 * its communicator gives the number back when all old members have read that its last turn had a
 * yes. What happens in such a turn is in exchange.pml.
 *
 * Asserted: all members of a room come to the same decision in each turn; in the end all numbers
 * have been given back; no process is blocked for ever (invalid end states). With -DBREAK_... a
 * mistake is built in, which must be found (run.py).
 */

#ifndef COMMS
#define COMMS 3
#endif
#ifndef TURNS
#define TURNS 2
#endif
#ifndef NUMBERS
#define NUMBERS 2
#endif
#define PROCESSES 3
#define MEMBERS 2 /* of a communicator: processes 0 and 1, or 0 and 2, or 1 and 2 */
#define SEATS 2
#define IN(comm, process) ((process) != 2 - ((comm) - 1) % PROCESSES)
#define FIRST(comm) (IN(comm, 0) -> 0 : 1)
#define SECOND(comm) (IN(comm, 2) -> 2 : 1)
#define SEAT(number, process, turn) (((number) * PROCESSES + (process)) * SEATS + (turn) % SEATS)

byte seat_turn[NUMBERS * PROCESSES * SEATS];
bool seat_yes[NUMBERS * PROCESSES * SEATS];

bool used[PROCESSES * NUMBERS];
byte closing_comm[PROCESSES * NUMBERS]; /* 0: none */
byte closing_taken[PROCESSES * NUMBERS];

/* The collective in which members agree on a number. */
bool offer_used[(COMMS + 1) * PROCESSES * NUMBERS];
byte offer_turn[(COMMS + 1) * PROCESSES];
byte arrived[COMMS + 1];

byte decision[(COMMS + 1) * (TURNS + 1)]; /* 0: not yet, 1: no, 2: yes */
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
                        seat_turn[SEAT(n, j, closing_taken[me * NUMBERS + n] + 1)] > closing_taken[me * NUMBERS + n]);
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
    offer_turn[comm * PROCESSES + me] = last;
    arrived[comm]++
  }
  (arrived[comm] == MEMBERS);
  atomic {
    number = 0;
    turn = 0;
    j = 0;
    do
    :: j < PROCESSES && IN(comm, j) ->
      if
      :: offer_turn[comm * PROCESSES + j] > turn -> turn = offer_turn[comm * PROCESSES + j]
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
#ifdef BREAK_FIRST_TURN
    turn = 0
#endif
  }
}

inline say(what) {
  atomic {
    seat_turn[SEAT(number, me, turn)] = turn;
    seat_yes[SEAT(number, me, turn)] = what;
    last = (turn > last -> turn : last)
  }
}

inline vote() {
  if
  :: taken != 0 && turn >= taken + SEATS ->
    j = 0;
    do
    :: j < PROCESSES -> (!IN(comm, j) || seat_turn[SEAT(number, j, taken + 1)] > taken); j++
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
    (!IN(comm, j) || seat_turn[SEAT(number, j, turn)] >= turn);
    atomic {
      yes = !IN(comm, j) || (seat_turn[SEAT(number, j, turn)] == turn && seat_yes[SEAT(number, j, turn)])
    }
    j++
  :: else -> break
  od;
  atomic {
    assert(decision[comm * (TURNS + 1) + i] == 0 || decision[comm * (TURNS + 1) + i] == 1 + yes);
    decision[comm * (TURNS + 1) + i] = 1 + yes
  }
  if
  :: yes -> taken = turn
  :: else
  fi
}

inline close_room() {
#ifndef BREAK_SILENT
  if
  :: taken != 0 && taken == turn -> turn++; say(false)
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
  byte comm = 1, turn, taken, last, number, i, j, n;
  bool yes, left;
  do
  :: comm <= COMMS && IN(comm, me) ->
    sweep();
    agree();
    taken = 0;
    i = 0;
    do
    :: number < NUMBERS && i < TURNS -> turn++; vote(); i++
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
