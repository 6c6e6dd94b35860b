/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The receiving side of pieces.pml, which includes this file: ArrivingPieces in
 * interpose/direct/pipeline, the look for tokens in interpose/direct/messages, and is_incomplete()
 * in interpose/requests. What is asserted stands there.
 */

/* The library puts pieces where receives of them are posted. */
inline match() {
  do
  :: come[id] < asked[id] && len(kept[TAG(id)]) > 0 ->
    kept[TAG(id)] ? piece;
    keeps[peer]--;
    place[id * AHEAD + come[id] % AHEAD] = piece;
    piece = 0;
    come[id]++
  :: else -> break
  od
}
/* Posts a receive of a piece, if a place is free. */
inline ask() {
  if
  :: asked[id] < size[id] && asked[id] < taken[id] + AHEAD -> asked[id]++; match()
  :: else
  fi
}

/* ReceivedNumbers::add(), note_received() */
inline add_and_note() {
  has[peer * NUMBERS + number[id]] = true;
#ifdef BREAK_LARGEST
  if
  :: number[id] > largest[peer] -> largest[peer] = number[id]
  :: else
  fi;
#endif
#ifdef BREAK_NOTED_LARGEST
  if
  :: number[id] > all_to[peer] -> all_to[peer] = number[id]
  :: else
  fi;
#else
  do
  :: all_to[peer] < MESSAGES && has[peer * NUMBERS + all_to[peer] + 1] -> all_to[peer]++
  :: else -> break
  od;
#endif
  received[peer] = received[peer] + size[id];
#ifdef BREAK_NOTED_TWICE
  received[peer] = received[peer] + size[id];
#endif
  if
  :: received[peer] - noted[peer] >= NOTE || all_to[peer] - noted_to[peer] >= NOTE ->
    noted[peer] = received[peer];
    noted_to[peer] = all_to[peer];
    notes[peer] ! noted[peer], noted_to[peer]
  :: else
  fi
}

/* The library's receive is complete. If it has brought a token, receives of pieces are posted. */
#define IS_WHOLE_THERE (kind[id] == WHOLE && (told || !away))
#define IS_COMPLETE (kind[id] == TOKEN || kind[id] == DATA || IS_WHOLE_THERE)
#define IS_TOO_SHORT (SHORT && id % MESSAGES == 0 && kind[id] == TOKEN)
inline look_for_token() {
#ifdef BREAK_BELIEVED
  arriving[id] = kind[id] != WHOLE;
#else
  arriving[id] = kind[id] != WHOLE && !HAS(peer, number[id]);
#endif
  arriving[id] = arriving[id] && !IS_TOO_SHORT;
  assert(arriving[id] == (kind[id] == TOKEN && !IS_TOO_SHORT));
  if
  :: arriving[id] ->
    ask();
    ask();
#ifdef BREAK_NOTED_EARLY
    add_and_note();
#endif
  :: else
  fi
}

/* ArrivingPieces::next(), and unpacking. */
#ifdef BREAK_REST_LEFT
#define IS_LAST (taken[id] > 0)
#else
#define IS_LAST (taken[id] == size[id])
#endif
inline take() {
  i = taken[id];
  taken[id]++;
#ifdef BREAK_ASKED_EARLY
  ask();
#endif
  assert(place[id * AHEAD + i % AHEAD] == PIECE(id, i));
  i = 0
}

/* The program's request ends. What is not needed any more is zero, so there are fewer states. */
inline end_receive() {
  if
  :: arriving[id] ->
    arriving[id] = false;
#ifndef BREAK_NOTED_EARLY
    add_and_note();
#endif
    do
    :: come[id] > 0 -> come[id]--; place[id * AHEAD + come[id] % AHEAD] = 0
    :: else -> break
    od
  :: else
  fi;
  asked[id] = 0;
  taken[id] = 0;
  size[id] = 0;
  tests[id] = 0;
  assert(request[id]);
  request[id] = false;
  ended++
}

/* MPI_Test: first is_incomplete(), then the library's call. */
inline test() {
  progress();
  atomic {
    if
    :: !arriving[id] && IS_COMPLETE ->
#ifdef BREAK_TEST_COMPLETES
      request[id] = false;
#endif
      look_for_token();
      if
      :: !arriving[id] -> end_receive()
      :: else
      fi
    :: else
    fi
  };
  if
  :: arriving[id] ->
    do
    :: atomic {
      ask();
      match();
      if
      :: IS_LAST -> end_receive(); break
      :: !IS_LAST && come[id] > taken[id] -> take()
#ifdef BREAK_TEST_WAITS
      :: else
#else
      :: else -> assert(request[id]); break
#endif
      fi
    }
#ifdef BREAK_TEST_WAITS
      (IS_LAST || come[id] > taken[id] || len(kept[TAG(id)]) > 0)
#endif
    od
#ifdef BREAK_TEST_AGAIN
  :: atomic { request[id] && !arriving[id] && IS_COMPLETE -> end_receive() }
#endif
  :: !arriving[id]
  fi
}

/* MPI_Wait */
inline wait() {
  if
  :: !arriving[id] -> await(IS_COMPLETE); atomic { look_for_token() }
  :: else
  fi;
  if
  :: arriving[id] ->
    do
    :: atomic {
      ask();
      if
      :: IS_LAST -> break
      :: else
      fi
    };
      await(come[id] > taken[id] || len(kept[TAG(id)]) > 0);
      atomic { match(); take() }
    od
  :: else
  fi;
  atomic { end_receive() }
}

#define IS_OVER(id) (posted[id] && !request[id])
inline post() {
  atomic {
    if
    :: !posted[id] -> posted[id] = true; request[id] = true
    :: else
    fi
  }
}
