/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Receives whose requests the program has freed (interpose/requests/freed.hpp). There are RECEIVES
 * of them. Their messages arrive one after the other; after each, the program is told by another
 * message that it was sent. One thread of the receiver gets these and looks at the data. With
 * THREADS 2, a second thread gets none, but calls MPI, too, and may be the one that unpacks. The
 * library may also call it back while it holds a lock that the other thread's calls need. END 0:
 * the communicator is disconnected, and the library waits there until no request is left. END 1:
 * MPI_Finalize, in which the library completes the rest when the sender has come, too. Then the
 * last message is sent late, and the sender waits until it has been received.
 *
 * A message arrives in two parts. The library writes only while this process is in a call of it. So
 * testing whether a message has begun, and overwriting what was there before, are one step. */

#define OLD 0 /* as the program's memory was */
#define NEW 1
#define ANY 2 /* the packed data before anything is known of them */

#define LAST (RECEIVES - 1)

byte packed[RECEIVES * 2];   /* where the library writes */
byte memory[RECEIVES * 2];   /* of the program */
bool posted[RECEIVES];       /* the library knows of the receive */
bool held[RECEIVES];         /* and lacuna of its request */
bool complete[RECEIVES];
byte asking[RECEIVES];       /* threads that ask about it */
byte freed;                  /* as counted */
bool taken;                  /* the turn */
bool locked;                 /* by the library, around a callback */
bool over;                   /* no more calls of the other thread */
bool arrived_at_end, sender_over;
chan words = [RECEIVES] of { byte };

proctype Sender() {
  byte i;
  do
  :: i < RECEIVES ->
    if
    :: END == 1 && i == LAST -> (arrived_at_end)
    :: else
    fi;
    (posted[i]);
    packed[2 * i] = NEW;
    atomic { packed[2 * i + 1] = NEW; complete[i] = true };
    words ! i;
    i++
  :: else -> break
  od;
  sender_over = true
}

/* Unpacks what has arrived, and counts it. */
inline end_freed(i) {
#ifdef BREAK_COUNT_FIRST
  freed--;
  memory[2 * i] = packed[2 * i];
  memory[2 * i + 1] = packed[2 * i + 1];
  held[i] = false
#else
  memory[2 * i] = packed[2 * i];
  memory[2 * i + 1] = packed[2 * i + 1];
  held[i] = false;
  freed--
#endif
}

inline ask_all(called_back) {
  i = 0;
  do
  :: i < RECEIVES ->
    if
    :: held[i] ->
      atomic { (!locked || called_back) -> asking[i]++; assert(asking[i] == 1); done = complete[i] };
      asking[i]--;
      if
      :: done -> end_freed(i)
      :: else
      fi
    :: else
    fi;
    i++
  :: else -> break
  od
}

/* finish_freed_requests(); `called_back`: in a callback of the library's. */
inline finish(called_back) {
  if
  :: freed != 0 ->
#ifdef BREAK_NO_TURN
    has = true;
#else
    has = false;
    if
    :: atomic { !taken -> taken = true; has = true }
#ifdef BREAK_SKIP
    :: atomic { taken -> skip }
#else
#ifndef BREAK_CALLBACK
    :: atomic { taken && called_back -> skip }
#endif
#endif
    fi;
#endif
    if
    :: has -> ask_all(called_back); taken = false
    :: else
    fi
  :: else
  fi
}

proctype Other() {
  byte i;
  bool done, has;
  do
  :: finish(false)
  :: atomic { !locked -> locked = true }; finish(true); locked = false  /* a callback */
  :: over -> break
  od
}

proctype Main() {
  byte i, heard, n;
  bool done, has, left;
  do
  :: n < RECEIVES - END ->
    words ? heard;
#ifndef BREAK_NOT_BEHIND
    finish(false);
#endif
    assert(memory[2 * heard] == NEW && memory[2 * heard + 1] == NEW);
    n++
  /* The communicator is no longer used before the program learns of all messages. */
  :: END == 0 -> break
  :: else -> break
  od;
#if END == 0
#ifndef BREAK_DISCONNECT
  do
  :: finish(false);
    left = false;
    i = 0;
    do
    :: i < RECEIVES -> left = left || held[i]; i++
    :: else -> break
    od;
#ifdef BREAK_ONCE
    break
#else
    if
    :: left
    :: else -> break
    fi
#endif
  od;
#endif
  i = 0;
  do  /* the library waits */
  :: i < RECEIVES -> (!held[i]); i++
  :: else -> break
  od;
  over = true;
#else
  over = true;
  if
  :: true -> arrived_at_end = true  /* the last message may begin before */
  :: true
  fi;
  finish(false);
  i = 0;
  do
  :: i < RECEIVES ->
    if
    :: held[i] ->
#ifdef BREAK_CANCELLED
      posted[i] = false; held[i] = false; freed--
#else
      atomic {
        if
#ifndef BREAK_BEGUN
        :: packed[2 * i] != ANY -> done = true
#endif
        :: else -> packed[2 * i] = OLD; packed[2 * i + 1] = OLD; done = false
        fi
      };
      if
      :: done -> (complete[i]); end_freed(i)
      :: else -> freed--
      fi
#endif
    :: else
    fi;
    i++
  :: else -> break
  od;
  arrived_at_end = true;
  (sender_over);
  i = 0;
  do
  :: i < RECEIVES ->
    if
    :: held[i] ->  /* what differs from what was there before */
#ifndef BREAK_LEFT
      memory[2 * i] = packed[2 * i];
      memory[2 * i + 1] = packed[2 * i + 1];
#endif
      held[i] = false
    :: else
    fi;
    i++
  :: else -> break
  od;
#endif
  i = 0;
  do
  :: i < RECEIVES -> assert(memory[2 * i] == NEW && memory[2 * i + 1] == NEW); i++
  :: else -> break
  od
}

init {
  byte j;
  atomic {
    do
    :: j < RECEIVES ->
      packed[2 * j] = ANY;
      packed[2 * j + 1] = ANY;
      posted[j] = true;
      held[j] = true;
      freed++;
      j++
    :: else -> break
    od;
    run Sender();
#if THREADS == 2
    run Other();
#endif
    run Main()
  }
}
