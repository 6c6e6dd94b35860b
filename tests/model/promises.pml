/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Payloads that are owed (interpose/messages/message.hpp, send_and_fill). RANKS ranks send to each
 * other around a ring: each sends a token, and packs its payload after it. Each has a freed receive
 * from the rank before it. Whoever looks after freed receives and finds a token waits for its
 * payload.
 *
 * A rank looks behind the library's call that sends its token, as behind any call
 * (interpose/requests/after_calls.hpp), and again when it has packed.
 *
 * Asserted: all ranks end, and each receives the payload. With -DBREAK_... a mistake is built in,
 * which must be found (run.py).
 */

#ifndef RANKS
#define RANKS 3
#endif

bool token[RANKS];   /* sent by this rank */
bool packed[RANKS];  /* and its payload */
bool got[RANKS];     /* what this rank's freed receive has brought */

inline look(me, before) {
  if
  :: token[before] && !got[me] ->
    (packed[before]);
    got[me] = true
  :: else
  fi
}

proctype Rank(byte me) {
  byte before = (me + RANKS - 1) % RANKS;
  token[me] = true;
#ifdef BREAK_LOOKS_FIRST
  look(me, before);
#endif
  packed[me] = true;
  do
  :: got[me] -> break
  :: else -> look(me, before)
  od
}

init {
  byte i;
  atomic {
    do
    :: i < RANKS -> run Rank(i); i++
    :: else -> break
    od
  }
}
