/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How much the ranks of other nodes may send one rank in pieces before it has received them
 * (interpose/direct/pipeline/far_rank). Each of SENDERS may send FIRST pieces, as all ranks know.
 * The receiver has POOL more, and grants parts of them to those that ask. A sender asks when a
 * message does not fit, which then goes whole; it returns what it was granted when it has sent
 * nothing for a while, here at any time, RETURNS times at most. No sender's share exceeds MOST. With
 * ENDS 1, senders return all in the end. The receiver tells now and then what it has received, at
 * the latest when it is as much as the share, and each sender that asks or returns.
 *
 * Notes tell totals, and come in order: from the receiver, how many pieces it has received and has
 * granted; from a sender, the share that it wants, and how many pieces it has returned. A process
 * reads the notes that have come when it likes, and waits for none.
 *
 * Asserted: the receiver's library never keeps more than SENDERS * FIRST + POOL pieces; at the end
 * nothing that a sender wants is left in the pool; senders can return all (invalid end states). With
 * -DBREAK_... a mistake is built in, which must be found (run.py).
 *
 * Left out: tokens, tags and order (pieces.pml).
 */

#ifndef SENDERS
#define SENDERS 2
#endif
#ifndef FIRST
#define FIRST 1
#endif
#ifndef POOL
#define POOL 2
#endif
#ifndef MOST
#define MOST 3
#endif
#ifndef MESSAGES
#define MESSAGES 2
#endif
#ifndef RETURNS
#define RETURNS 1
#endif
#ifndef ENDS
#define ENDS 0
#endif
#define PIECES 2 /* of a message, at most */

#define MOST_SENDERS 3
byte kept[MOST_SENDERS];                            /* pieces that the receiver's library keeps */
chan asks[MOST_SENDERS] = [4] of { byte, byte };    /* wanted, returned */
chan answers[MOST_SENDERS] = [8] of { byte, byte }; /* received, granted */
byte ended;

inline check_kept() {
  i = 0;
  all = 0;
  do
  :: i < SENDERS -> all = all + kept[i]; i++
  :: else -> break
  od;
  assert(all <= SENDERS * FIRST + POOL);
  i = 0;
  all = 0
}

#ifdef BREAK_SHARE_TOLD
/* The note tells the share itself: one that is on its way brings back what was returned. */
#define SHARE (FIRST + granted)
#else
#define SHARE (FIRST + granted - returned)
#endif

/* But for what may not be received yet. */
#ifdef BREAK_RETURNS_ALL
#define UNUSED (SHARE - FIRST)
#else
#define UNUSED (sent - known > FIRST -> SHARE - (sent - known) : SHARE - FIRST)
#endif
inline return_unused() {
  size = UNUSED;
#ifdef BREAK_SHARE_TOLD
  granted = granted - size;
#endif
  returned = returned + size;
  wanted = 0;
  size = 0;
  asks[me] ! wanted, returned
}

proctype Sender(byte me) {
  byte sent, known, granted, returned, wanted, size, messages, returns, i, all;
  do
  :: atomic { messages < MESSAGES ->
      messages++;
      if
      :: size = 1
      :: size = PIECES
      fi;
      do
      :: answers[me] ? known, granted
      :: true -> break
      od;
      if
      :: sent - known + size <= SHARE ->
        sent = sent + size;
        kept[me] = kept[me] + size;
        check_kept()
      :: sent - known + size > SHARE && sent - known + size > wanted && sent - known + size <= MOST ->
        wanted = sent - known + size;
        asks[me] ! wanted, returned
      :: else
      fi;
      size = 0
    }
  :: atomic { returns < RETURNS ->
      returns++;
      if
      :: UNUSED > 0 || wanted > 0 -> return_unused()
      :: else
      fi
    }
  :: messages == MESSAGES -> break
  od;
#if ENDS
  do
  :: answers[me] ? known, granted
  :: atomic { UNUSED > 0 || wanted > 0 -> return_unused() }
  :: SHARE == FIRST && wanted == 0 -> break
  od;
#endif
  ended++
}

#define HAS(s) (FIRST + granted[s] - returned[s])

#ifdef BREAK_SHARE_TOLD
#define TELL(s) answers[s] ! received[s], HAS(s) - FIRST; told[s] = received[s]
#else
#define TELL(s) answers[s] ! received[s], granted[s]; told[s] = received[s]
#endif
#define ANY (kept[0] + kept[1] + kept[2] + len(asks[0]) + len(asks[1]) + len(asks[2]) > 0)

inline grant(s) {
  if
  :: wanted[s] > HAS(s) ->
    size = wanted[s] - HAS(s);
#ifndef BREAK_NO_POOL
    if
    :: size > left -> size = left
    :: else
    fi;
    left = left - size;
#endif
    if
    :: size > 0 -> granted[s] = granted[s] + size; TELL(s)
    :: else
    fi;
    size = 0
  :: else
  fi
}

proctype Receiver() {
  byte received[SENDERS], granted[SENDERS], returned[SENDERS], wanted[SENDERS], told[SENDERS];
  byte left = POOL;
  byte s, size, back;
  do
  :: atomic { kept[s] > 0 ->
      kept[s]--;
      received[s]++;
      if
      :: TELL(s)
      :: received[s] - told[s] < HAS(s)
      fi
    }
  :: atomic { asks[s] ? wanted[s], back ->
      left = left + back - returned[s];
      returned[s] = back;
      back = s;
#ifdef BREAK_NOT_AGAIN
      grant(s);
#else
      s = 0;
      do
      :: s < SENDERS -> grant(s); s++
      :: else -> s = back; break
      od;
#endif
      back = 0;
      if
#ifndef BREAK_NOT_TOLD
      :: told[s] != received[s] -> TELL(s)
#endif
      :: else
      fi
    }
  :: ANY -> s = (s + 1) % SENDERS
  :: atomic { ended == SENDERS ->
      s = 0;
      do
      :: s < SENDERS && len(asks[s]) == 0 -> s++
      :: else -> break
      od;
      if
      :: s == SENDERS -> break
      :: else
      fi
    }
  od;
  s = 0;
  do
  :: s < SENDERS -> assert(wanted[s] <= HAS(s) || left == 0); s++
  :: else -> break
  od
}

init {
  byte s;
  atomic {
    do
    :: s < SENDERS -> run Sender(s); s++
    :: else -> break
    od;
    run Receiver()
  }
}
