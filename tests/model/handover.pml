/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How payloads go through a region of the sender's arena (interpose/direct): reserve a region, send
 * its token, publish pieces while the receiver follows; the receiver marks the region done, and
 * another message uses it again. If no region is free, the library sends the message as a whole.
 * Two threads of a rank send, alternating two tags (handover_sender.pml). A rank receives the first
 * message that comes (wildcards) or one with a tag. It may probe first, cancel a receive that has
 * not matched yet, or free one, which later calls finish. Another thread may probe at any time.
 *
 * A probe that finds a token takes the messages up to that one out of the library's queue and holds
 * them (probe.hpp); a receive searches these first. Between that search and the moment when the
 * library knows of the receive, nothing may be taken out of the queue.
 *
 * Before a token is sent, its sender counts it and then writes a new value into a word. The
 * receiver counts the tokens it has landed, i.e. whose payload it has. If as many were sent, it may
 * keep the word it has read before that comparison (settle). While the word has that value, a
 * receive that is complete need not be examined for a token.
 *
 * Every interleaving is checked, with sequentially consistent memory: what is written before a
 * store with release and read after a load with acquire (payload and `published`, payload and
 * `done`) is ordered in the code as it is here. There are no cancelled sends, as no library cancels
 * them.
 *
 * Asserted: each message arrives once, whole, with its own bytes; a receive never matches a message
 * while an earlier one of the same thread fits it, too; the message that a probe has reported is
 * what the next receive gets; a receive that is not examined has brought no token; no piece is
 * overwritten before it is read; no process is blocked for ever (invalid end states). With
 * -DBREAK_... a mistake is built in, which must be found (run.py).
 */

#ifndef SENDERS
#define SENDERS 2  /* threads of the sending rank */
#endif
#ifndef MESSAGES
#define MESSAGES 2 /* of each thread */
#endif
#ifndef REGIONS
#define REGIONS 2  /* less than there are messages */
#endif
#ifndef PROBES
#define PROBES 1   /* of another thread of the receiving rank */
#endif
#ifndef CALLS
#define CALLS 3    /* of the receiver: 1 probes, 2 cancels and frees, 3 both */
#endif
#define PIECES 2   /* of each payload */
#define RECEIVES 2 /* under way at once: one and a freed one */
#define ALL (SENDERS * MESSAGES)
#define NONE 255
#define ANY 2      /* instead of a tag */
#define TAG(message) ((message / MESSAGES + message % MESSAGES) % 2)

/* The arena. A piece holds the number of the message whose bytes it has. */
byte piece[REGIONS * PIECES] = NONE;
byte published[REGIONS];
bool done[REGIONS] = true;  /* no receiver needs it */
bool out[REGIONS];          /* in the sender's list, until a sweep finds it done */
bool locked;                /* of that list */
byte sent;                  /* tokens */
byte word;                  /* a token that will soon be on its way */
byte landed;                /* tokens, too; what follows is the receiver's */
byte settled;               /* the word when as many had been landed as were sent */

/* The library of the receiving rank: messages that wait for a receive, and receives that wait for a
 * message. A message is its tag, its number and the region of its payload; NONE: the payload is in
 * it. */
chan queue = [ALL] of { byte, byte, byte };
chan posted = [RECEIVES] of { byte, byte };  /* tag, which one */
chan held = [ALL] of { byte, byte, byte };   /* out of the queue, for a probe */
bool taking;                                 /* the lock of that (PostingLock) */

/* A receive has matched a message, which has not been taken to the program yet. */
byte brought[RECEIVES] = NONE;
byte region_of[RECEIVES];

bool matched[ALL];
byte senders_over;

/* Asserts that no earlier message of the same thread fits the receive, too. */
inline match(receive, tag_, number_, region_) {
  k = number_ / MESSAGES * MESSAGES;
  do
  :: k < number_ -> assert(matched[k] || (tag_ != ANY && tag_ != TAG(k))); k++
  :: else -> break
  od;
  assert(!matched[number_]);
  matched[number_] = true;
  brought[receive] = number_;
  region_of[receive] = region_
}

/* The library gets a message: it matches the first receive that fits, or is queued. */
inline arrive(number_, region_) {
  d_step {
    l = len(posted);
    fits = NONE;
    do
    :: l > 0 ->
      posted ? t, s;
      if
      :: fits == NONE && (t == ANY || t == TAG(number_)) -> fits = s; match(s, t, number_, region_)
      :: else -> posted ! t, s
      fi;
      l--
    :: else -> break
    od;
    if
    :: fits == NONE -> queue ! TAG(number_), number_, region_
    :: else
    fi;
    k = 0; l = 0; t = 0; s = 0; fits = 0
  }
}

#include "handover_sender.pml"

/* Clears the bytes of a region that is done: there are fewer states, and a late reader is found. */
inline forget(region_) {
  p = 0;
  do
  :: p < PIECES -> piece[region_ * PIECES + p] = NONE; p++
  :: else -> break
  od
}

/* Delivers what a receive has matched to the program. */
inline take(receive) {
  d_step { number = brought[receive]; region = region_of[receive] };
  if
  :: region == NONE -> skip  /* the library has brought all of it */
  :: else ->
#ifdef BREAK_FREE_FIRST
    done[region] = true;
#endif
    p = 0;
    do
    :: p < PIECES ->
#ifndef BREAK_NO_WAIT
      (published[region] > p);
#endif
      assert(piece[region * PIECES + p] == number);
      p++
    :: else -> break
    od;
#if !defined(BREAK_FREE_FIRST) && !defined(BREAK_NEVER_FREE)
    atomic { done[region] = true; forget(region) };
#endif
    landed++
  fi;
  atomic {
    arrived[number] = arrived[number] + 1;
    assert(arrived[number] == 1);
    of_tag[TAG(number)]--;
#ifndef BREAK_CANCELLED
    brought[receive] = NONE;
#endif
    region_of[receive] = 0;
    number = 0;
    region = 0
  }
}

/* The call that completes a receive. While the word is the settled one, it is not examined. */
inline complete(receive) {
  assert(word != settled || region_of[receive] == NONE);
  take(receive);
  if
  :: settle()
  :: true
  fi
}

/* Until the word changes, no token can arrive that has not been landed. */
inline settle() {
#ifdef BREAK_WORD_LAST
  if
  :: landed == sent -> settled = word
  :: else
  fi
#else
  seen = word;
  d_step {
#ifdef BREAK_UNCOUNTED
    settled = seen;
#else
    if
    :: landed == sent -> settled = seen
    :: else
    fi;
#endif
    seen = 0
  }
#endif
}

/* The first message in `from` that has the tag; NONE: there is none. */
inline claim(from, tag_) {
  number = NONE;
  if
  :: tag_ == ANY && len(from) > 0 -> from ? t, number, region
  :: tag_ != ANY && from ?? [eval(tag_), number, region] -> from ?? eval(tag_), number, region
  :: else
  fi
}
inline look(from, tag_) {
  number = NONE;
  if
  :: tag_ == ANY && len(from) > 0 -> from ? <t, number, region>
  :: tag_ != ANY && from ?? [eval(tag_), number, region] -> from ?? <eval(tag_), number, region>
  :: else
  fi
}

inline wait_for(tag_) {
  if
  :: tag_ == ANY -> (len(held) + len(queue) > 0)
  :: else -> (held ?? [eval(tag_), number, region] || queue ?? [eval(tag_), number, region])
  fi
}

#if PROBES > 0
inline begin_taking() { atomic { !taking -> taking = true } }
inline end_taking() { taking = false }
#else  /* nobody else takes out */
inline begin_taking() { skip }
inline end_taking() { skip }
#endif

/* Takes the messages up to the first with this tag out of the queue. */
inline hold_up_to(tag_) {
  begin_taking();
  do
  :: atomic {
#ifdef BREAK_HOLD_ONE
      claim(queue, tag_);
#else
      look(held, tag_);
      if
      :: number == NONE -> claim(queue, ANY)
      :: else -> number = NONE
      fi;
#endif
      if
      :: number != NONE -> held ! TAG(number), number, region
      :: else -> break
      fi
#ifdef BREAK_HOLD_ONE
      ; break
#endif
    }
  od;
  end_taking()
}

/* Another thread, which may probe at any time. */
proctype Prober() {
  byte i, t, number, region, tag;
  do
  :: i < PROBES ->
    if
    :: tag = ANY
    :: tag = 0
    :: tag = 1
    fi;
    atomic { look(held, tag); if :: number == NONE -> look(queue, tag) :: else -> region = NONE fi };
    if
    :: number != NONE && region != NONE -> tag = TAG(number); hold_up_to(tag)
    :: else
    fi;
    i++
  :: else -> break
  od
}

/* MPI_Irecv. */
inline post(receive, tag_) {
#ifndef BREAK_NO_POSTING
  begin_taking();
#endif
#ifdef BREAK_LIBRARY_FIRST
  atomic { claim(queue, tag_); if :: number == NONE -> claim(held, tag_) :: else fi };
#else
  atomic { claim(held, tag_) };
#endif
  if
  :: number != NONE -> d_step { match(receive, tag_, number, region); k = 0 }
  :: else ->
    atomic {
      claim(queue, tag_);
      if
      :: number != NONE -> match(receive, tag_, number, region); k = 0
      :: else -> posted ! tag_, receive
      fi
    }
  fi;
#ifndef BREAK_NO_POSTING
  end_taking()
#endif
}

proctype Receiver() {
  byte n, p, k, t, number, region, tag, found, seen;
  byte now;          /* the receive of this call; the other one may have been freed */
  bool freed;
  bool cancelled;    /* once */
  byte arrived[ALL];
  byte of_tag[2];    /* messages of each tag that are yet to come to the program */
  d_step {
    do
    :: n < ALL -> of_tag[TAG(n)]++; n++
    :: else -> break
    od;
    n = 0
  };
  do
  :: n < ALL ->
    /* A later call finishes a freed receive. */
    if
    :: freed && brought[1 - now] != NONE -> take(1 - now); freed = false
    :: else
    fi;
    found = NONE;
    if
    :: !freed && of_tag[0] > 0 -> tag = 0
    :: !freed && of_tag[1] > 0 -> tag = 1
    :: tag = ANY
    fi;
    if
    :: !freed && CALLS % 2 == 1 ->  /* MPI_Probe; the receive is for what it has found */
      do
      :: found == NONE ->
        wait_for(tag);
        atomic {
          look(held, tag);
          if
          :: number != NONE -> found = number
          :: else ->
            look(queue, tag);
            if
            :: region == NONE -> found = number
            :: else
            fi
          fi
        };
        if
        :: found == NONE -> t = TAG(number); hold_up_to(t)
        :: else
        fi
      :: else -> break
      od;
      tag = TAG(found)
    :: true
    fi;
    post(now, tag);
    assert(found == NONE || found == brought[now]);
    if
    :: (brought[now] != NONE) -> complete(now); n++
    /* MPI_Cancel of one that has not matched. */
    :: atomic {
         CALLS >= 2 && !cancelled && posted ?? [eval(tag), eval(now)] ->
           posted ?? eval(tag), eval(now);
           cancelled = true
       };
#ifdef BREAK_CANCELLED
       take(now)
#endif
    /* MPI_Request_free. */
    :: CALLS >= 2 && !freed -> freed = true; now = 1 - now; n++;
#ifdef BREAK_FREED_LOST
       freed = false
#endif
    fi
  :: else -> break
  od;
  if
  :: freed -> (brought[1 - now] != NONE); take(1 - now)
  :: else
  fi;
  for (n : 0 .. ALL - 1) { assert(arrived[n] == 1) }
  /* In the end, every region is free, or will be at the next sweep. */
  (senders_over == SENDERS);
  for (p : 0 .. REGIONS - 1) { assert(!out[p] || done[p]) }
}

init {
  atomic {
    byte s;
    do
    :: s < SENDERS -> run Sender(s); s++
    :: else -> break
    od;
    run Receiver();
#if PROBES > 0
    run Prober()
#endif
  }
}
