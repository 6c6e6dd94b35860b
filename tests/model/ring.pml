/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The ring of a large payload (send.cpp and receive.cpp in interpose/direct/messages). The sender
 * writes its pieces to the first places of the region over and over, while the receiver follows. If
 * the receiver does not report in time that it has read a piece, the sender ends the ring and goes
 * on in the places behind it. It may decide so at any time, and never waits. Or it packs before the
 * token is sent, and has no ring. One message follows the other through the same region.
 *
 * The receiver reads how much is published, then where the ring ends, and reads all of that up to
 * the end of a round, and reports it. If it needs more at once, it reads both again.
 *
 * Memory is sequentially consistent, as in handover.pml. Asserted: each piece is read as it was
 * sent; no process is blocked for ever. With -DBREAK_... a mistake is built in.
 */
#ifndef PIECES
#define PIECES 5
#endif
#ifndef ROOM
#define ROOM 2      /* pieces of a round */
#endif
#ifndef MESSAGES
#define MESSAGES 2
#endif
#define NONE 255

byte place[PIECES] = NONE;
byte published;
byte ring_end;
byte consumed;
bool done = true;
chan tokens = [1] of { byte };

proctype Sender() {
  byte m, p, at;
  bool rings;
  do
  :: m < MESSAGES ->
    (done);  /* else the message would go another way */
    published = 0;
    ring_end = 0;
    consumed = 0;
    done = false;
    if
    :: tokens ! m;
       rings = true;
       ring_end = PIECES
    :: rings = false
    fi;
    p = 0;
    do
    :: p < PIECES ->
      at = p;
      if
      :: rings && p >= ROOM ->
        if
#ifdef BREAK_NO_ROOM
        :: true -> at = p % ROOM
#else
        :: atomic { consumed > p - ROOM -> at = p % ROOM }
#endif
        :: true ->
          rings = false;
#ifndef BREAK_END_LATE
          ring_end = p
#endif
        fi
      :: else -> skip
      fi;
      place[at] = m * PIECES + p;
      published = p + 1;
#ifdef BREAK_END_LATE
      if
      :: !rings && ring_end > p -> ring_end = p
      :: else -> skip
      fi;
#endif
      p++
    :: else -> break
    od;
    if
    :: rings || ring_end > 0 -> skip
    :: else -> tokens ! m  /* packed before the call */
    fi;
    m++
  :: else -> break
  od
}

proctype Receiver() {
  byte m, p, there, end, stop, at, expected;
  do
  :: expected < MESSAGES ->
    tokens ? m;
    assert(m == expected);
    p = 0;
    do
    :: p < PIECES ->
#ifdef BREAK_END_FIRST
      end = ring_end;
#endif
      (published > p);
      there = published;
#ifndef BREAK_END_FIRST
      end = ring_end;
#endif
      if
      :: there < PIECES && there == p + 1 ->  /* not worth a turn */
        if
        :: p + 1 < end && ROOM < 2 -> skip
        :: else ->
          (published > p + 1 || published == PIECES);
          there = published
#ifndef BREAK_END_ONCE
          ; end = ring_end
#endif
        fi
      :: true
      fi;
      stop = there;
      if
      :: p < end ->
        if
        :: stop > end -> stop = end
        :: else
        fi;
        if
        :: stop > (p / ROOM + 1) * ROOM -> stop = (p / ROOM + 1) * ROOM
        :: else
        fi
      :: else
      fi;
#ifdef BREAK_CONSUMED_FIRST
      consumed = stop;
#endif
      do
      :: p < stop ->
        at = (p < end -> p % ROOM : p);
        assert(place[at] == m * PIECES + p);
        p++
      :: else -> break
      od;
      consumed = p
    :: else -> break
    od;
    done = true;
    expected++
  :: else -> break
  od
}

init {
  atomic {
    run Sender();
    run Receiver()
  }
}
