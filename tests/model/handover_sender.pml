/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The sending side of handover.pml, which includes this file: reserving a region (sweep, reserve),
 * packing into it (publish), and the threads that send. What is asserted stands there.
 */

/* A step reads one shared word; everything else that it uses is protected by the lock. */
inline sweep() {
  r = 0;
  do
  :: r < REGIONS ->
    atomic {
      if
      :: out[r] && done[r] -> out[r] = false
      :: else
      fi;
      r++
    }
  :: else -> break
  od
}

/* Reserves the first free region, or none: it never waits. */
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
  byte i, r, p, mine, number, count;
  byte k, l, t, s, fits;
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
    :: mine == NONE -> arrive(number, NONE)
    :: else ->
#ifdef BREAK_COUNTED_LATE
      word = sent + 1;
      sent++;
#else
      atomic { sent++; count = sent };
#ifndef BREAK_TOLD_LATE
      d_step { word = count; count = 0 };
#endif
#endif
      if
      /* A synchronous send packs before the call, others after it. */
      :: publish(); arrive(number, mine)
      :: arrive(number, mine); publish()
      fi
#ifdef BREAK_TOLD_LATE
      ; word = count
#endif
    fi;
    atomic { i++; number = 0; mine = 0; p = 0; r = 0 }
  :: else -> break
  od;
  senders_over++
}
