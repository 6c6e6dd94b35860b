/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Copies of tokens (interpose/direct). The memory into which a message is received may hold the
 * token of an earlier message, and a short or empty message leaves it there. Some receives are not
 * told how many bytes have come, and decide by the contents of their memory.
 *
 * A sender sends messages in order, as a token if a region is free or, as it likes, as data. The
 * receiver receives them in order, into memory with a copy of any token that it has landed, or
 * without. The contents are taken for a token if its region is not marked done and still has its
 * number. Meanwhile the sender uses the region again: it removes the number before the mark.
 *
 * A probe receives what may be a token, and leaves anything else where it is: it checks whether all
 * tokens that were counted have been landed. Each is counted before it is sent.
 *
 * Asserted: each token is landed once, with the payload of its own message, and no data are taken
 * for a token. With -DBREAK_... a mistake is built in, which must be found (run.py).
 */

#ifndef MESSAGES
#define MESSAGES 4
#endif
#ifndef REGIONS
#define REGIONS 2
#endif
#define NONE 255

chan queue = [MESSAGES] of { byte, byte };  /* number and region; NONE: data */

bool out[REGIONS];       /* the sender's list */
bool done[REGIONS];      /* the receiver's mark */
byte id[REGIONS];        /* 0: none; else the number and 1 */
byte payload[REGIONS];
byte sent;               /* tokens */

proctype Sender() {
  byte number, region, r;
  do
  :: number < MESSAGES ->
    region = NONE;
    r = 0;
    do
    :: r < REGIONS && region == NONE ->
      if
      :: !out[r] || done[r] -> region = r
      :: else
      fi;
      r++
    :: else -> break
    od;
    if
    :: region = NONE
    :: true
    fi;
    if
    :: region == NONE -> queue ! number, NONE
    :: else ->
      out[region] = true;
#ifdef BREAK_MARK_FIRST
      done[region] = false;
      id[region] = 0;
#else
#ifndef BREAK_NUMBER_STAYS
      id[region] = 0;
#endif
      done[region] = false;
#endif
      payload[region] = number;
#ifdef BREAK_NUMBER_LATE
      sent++;
      queue ! number, region;
      id[region] = number + 1
#else
      id[region] = number + 1;
#ifdef BREAK_COUNTED_LATE
      queue ! number, region;
      sent++
#else
      sent++;
      queue ! number, region
#endif
#endif
    fi;
    number++
  :: else -> break
  od
}

proctype Receiver() {
  byte n, number, region, landed, seen, k;
  byte held_number, held_region;     /* what lies in the memory of the receive */
  byte region_of[MESSAGES] = NONE;   /* of tokens that have been landed */
  bool believed;
  do
  :: n < MESSAGES ->
    /* A copy of some token that has been landed, or none. */
    held_region = NONE;
    held_number = 0;
    k = 0;
    do
    :: k < n ->
      if
      :: region_of[k] != NONE -> held_number = k; held_region = region_of[k]
      :: true
      fi;
      k++
    :: else -> break
    od;
    /* MPI_Probe */
    queue ? <number, region>;
    seen = sent;
    assert(seen != landed || region == NONE);
    /* MPI_Recv */
    queue ? number, region;
    if
    :: region != NONE -> held_number = number; held_region = region
    :: else
    fi;
    believed = false;
    if
    :: held_region == NONE
    :: else ->
#ifdef BREAK_BELIEVED
      believed = true
#elif defined(BREAK_NUMBER_FIRST)
      believed = id[held_region] == held_number + 1;
      believed = believed && !done[held_region]
#else
#ifdef BREAK_NO_MARK
      believed = true;
#else
      believed = !done[held_region];
#endif
#ifndef BREAK_NO_NUMBER
      believed = believed && id[held_region] == held_number + 1
#endif
#endif
    fi;
    assert(believed == (region != NONE));
    if
    :: believed ->
      assert(payload[held_region] == number);
      region_of[number] = region;
      landed++;
#ifndef BREAK_NEVER_MARKED
      done[region] = true
#endif
    :: else
    fi;
    n++
  :: else -> break
  od
}

init {
  atomic {
    run Sender();
    run Receiver()
  }
}
