/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Pipelined messages between ranks of two nodes (interpose/direct/pipeline, and the calls in
 * interpose/messages and interpose/requests). Rank 0 sends MESSAGES messages to rank 1, and with
 * BOTH 1 rank 1 as many to rank 0. Each has up to PIECES pieces, or is short; short data may be a
 * copy of a token whose message has been received. The library brings the k-th message to the k-th
 * receive. It sends tokens, short data and pieces eagerly: a piece leaves while its sender is in
 * some MPI call, and the receiver's library keeps it until there is a receive for it. A message
 * that does not fit into the window of WINDOW pieces, or finds none of TAGS tags free, goes whole,
 * and waits for its receive. The receiver sends a note after NOTE pieces, or NOTE numbers, more
 * than the last note has told. (The receiving side is in pieces_receiver.pml.)
 *
 * POSTED 1: the program posts all receives first; then its sends may block. POSTED 0: it posts a
 * receive when it comes to it, and no send blocks. STALL 1: rank 0 has sent, and makes no MPI call
 * until rank 1 has tested receives as often as it likes. Receives are completed in any order, by a
 * wait, or by a test, of which each has TESTS at most. SHORT 1: the first receive has less room
 * than a token, so the library ends it with an error, and nobody receives its pieces.
 *
 * Asserted: each receive gets the pieces of its own message, in order and once; no data are taken
 * for a token, and no token for data; a request that a test calls incomplete is still there; the
 * receiver's library keeps no more pieces than the window has; no process is blocked for ever
 * (invalid end states). With -DBREAK_... a mistake is built in, which must be found (run.py).
 *
 * Left out: probes (handover.pml), freed and cancelled receives, sends that fail, refused memory.
 */

#ifndef MESSAGES
#define MESSAGES 3
#endif
#ifndef PIECES
#define PIECES 2
#endif
#ifndef WINDOW
#define WINDOW 3
#endif
#ifndef TAGS
#define TAGS 3
#endif
#ifndef NOTE
#define NOTE 1
#endif
#ifndef BOTH
#define BOTH 0
#endif
#ifndef POSTED
#define POSTED 0
#endif
#ifndef STALL
#define STALL 0
#endif
#ifndef TESTS
#define TESTS 1
#endif
#ifndef SHORT
#define SHORT 0
#endif
#define AHEAD 2 /* receives of pieces that are posted ahead */

#define SENDERS (1 + BOTH)
#define ALL (SENDERS * MESSAGES)
#define NUMBERS (MESSAGES + 1) /* from 1 on */
#define OF(sender, k) ((sender) * MESSAGES + (k))
#define TAG(id) ((id) / MESSAGES * TAGS + number[id] % TAGS)
#define PIECE(id, i) ((id) * PIECES + (i))

/* The program's messages in the library's hands. */
#define NOTHING 0 /* not sent yet */
#define TOKEN 1
#define WHOLE 2
#define DATA 3
byte kind[ALL];
byte number[ALL]; /* of a token; of data: of the token that they are a copy of */
byte size[ALL];   /* pieces */

/* Receives: of the program, and of pieces (ArrivingPieces). */
bool posted[ALL];
bool request[ALL];  /* is there */
byte tests[ALL];
bool arriving[ALL]; /* a token has come */
byte asked[ALL];    /* receives of pieces that have been posted */
byte come[ALL];     /* pieces that are in their places */
byte taken[ALL];    /* pieces that have been given out */
byte place[ALL * AHEAD];

/* Pieces that the sender's library has, and those that the receiver's has kept. */
chan leaving[2] = [MESSAGES * PIECES] of { byte };
chan kept[SENDERS * TAGS] = [WINDOW] of { byte };
byte keeps[SENDERS];
chan notes[SENDERS] = [MESSAGES * 2] of { byte, byte };

/* What the receiver knows of a sender (FarRank). */
bool has[SENDERS * NUMBERS];
byte all_to[SENDERS], received[SENDERS], noted[SENDERS], noted_to[SENDERS];
#ifdef BREAK_LARGEST
byte largest[SENDERS];
#define HAS(sender, n) ((n) <= largest[sender])
#else
#define HAS(sender, n) has[(sender) * NUMBERS + (n)]
#endif

bool away;          /* rank 0 makes no MPI call */
bool told = !STALL; /* until it is told */

/* A piece leaves. */
#ifdef BREAK_RENDEZVOUS
byte head[2];
#define MAY_LEAVE(me) (len(leaving[me]) > 0 && asked[head[me] / PIECES] > head[me] % PIECES)
#else
#define MAY_LEAVE(me) (len(leaving[me]) > 0)
#endif
inline leave(me) {
  leaving[me] ? piece;
  assert(keeps[me] < WINDOW);
  keeps[me]++;
  kept[TAG(piece / PIECES)] ! piece;
#ifdef BREAK_RENDEZVOUS
  if
  :: len(leaving[me]) > 0 -> leaving[me] ? <head[me]>
  :: else
  fi;
#endif
  piece = 0
}

/* What the library does in an MPI call that waits, and in one that does not. */
inline await(what) {
  do
  :: atomic { MAY_LEAVE(me) -> leave(me) }
  :: what -> break
  od
}
inline progress() {
  do
  :: atomic { MAY_LEAVE(me) -> leave(me) }
  :: true -> break
  od
}

#include "pieces_receiver.pml"

/* Pieces::send() */
inline send_pieces() {
  i = 0;
  do
  :: i < pieces ->
    atomic {
#ifdef BREAK_RENDEZVOUS
      if
      :: len(leaving[me]) == 0 -> head[me] = PIECE(id, i)
      :: else
      fi;
#endif
      leaving[me] ! PIECE(id, i);
      i++
    };
    progress()
  :: else -> break
  od;
  i = 0
}

#define FITS (sent + size[id] - known <= WINDOW_CHECKED && numbers - known_to < TAGS_CHECKED - 1)
#ifdef BREAK_NO_WINDOW
#define WINDOW_CHECKED 255
#else
#define WINDOW_CHECKED WINDOW
#endif
#ifdef BREAK_NO_TAGS
#define TAGS_CHECKED 255
#else
#define TAGS_CHECKED TAGS
#endif
#ifdef BREAK_NOT_WIPED
#define MAY_COPY(n) true
#else
#define MAY_COPY(n) has[me * NUMBERS + (n)]
#endif

/* Chooses a message, and prepares it. */
inline prepare() {
  if
  :: POSTED -> blocks = true
  :: blocks = false
  fi;
  size[id] = 1;
  do
  :: size[id] < PIECES -> size[id]++
  :: i < numbers && MAY_COPY(i + 1) -> number[id] = i + 1; break
  :: i < numbers -> i++
  :: true -> break
  od;
  i = 0;
  if
  :: number[id] != 0
  :: else ->
    do
    :: notes[me] ? known, known_to
#ifdef BREAK_WAITS_FOR_ROOM
    :: FITS -> break
#else
    :: true -> break
#endif
    od;
    if
    :: FITS -> numbers++; number[id] = numbers; pieces = size[id]; sent = sent + pieces
    :: else
    fi
  fi
}

inline send() {
  atomic { prepare() };
  if
  :: pieces > 0 ->
    if
    :: kind[id] = TOKEN; send_pieces()
    :: !blocks -> send_pieces(); kind[id] = TOKEN /* MPI_Sendrecv */
    fi;
    if
    :: blocks -> await(len(leaving[me]) == 0)
    :: else
    fi
  :: pieces == 0 && number[id] == 0 ->
    kind[id] = WHOLE;
    if
    :: blocks -> await(posted[id])
    :: else
    fi
  :: else -> kind[id] = DATA
  fi;
  atomic { pieces = 0; blocks = false }
}

proctype Rank(byte me) {
  byte peer = 1 - me;
  byte k, id, i, piece, ended;
  byte numbers, sent, known, known_to, pieces;
  bool blocks;
  bool sends = me == 0 || BOTH, receives = me == 1 || BOTH;
  if
  :: receives && POSTED ->
    do
    :: k < MESSAGES -> id = OF(peer, k); post(); k++
    :: else -> k = 0; break
    od
  :: else
  fi;
  if
  :: sends ->
    do
    :: k < MESSAGES -> id = OF(me, k); send(); k++
    :: else -> k = 0; break
    od
  :: else
  fi;
  if
  :: me == 0 && STALL -> away = true; (told)
  :: else
  fi;
  do
  :: receives && ended < MESSAGES ->
    atomic {
      do
      :: IS_OVER(OF(peer, k)) -> k++
      :: !IS_OVER(OF(peer, k)) -> id = OF(peer, k); break
      :: !IS_OVER(OF(peer, k)) && i < MESSAGES - ended - 1 -> i++; k++
      od;
      i = 0;
      k = 0;
      post()
    };
    if
    :: tests[id] < TESTS -> tests[id]++; test()
    :: told -> wait()
    :: else
    fi
  :: receives && !told -> told = true
  :: else -> break
  od;
  assert(!receives || SHORT || keeps[peer] == 0);
  if
  :: sends ->
    do
    :: k < MESSAGES ->
      if
      :: kind[OF(me, k)] == WHOLE -> await(posted[OF(me, k)])
      :: else
      fi;
      k++
    :: else -> break
    od;
#ifndef BREAK_NOT_SENT
    await(len(leaving[me]) == 0) /* MPI_Finalize: end_sent_pieces() */
#endif
  :: else
  fi
}

init {
  atomic {
    run Rank(0);
    run Rank(1)
  }
}
