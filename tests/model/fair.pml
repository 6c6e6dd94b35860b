/* SPDX-License-Identifier: BSD-3-Clause
 *
 * MPI_Waitany and its like (interpose/requests/many.cpp). EARLY persistent sends are complete as
 * soon as they are started, without a request of the library's; and the library has requests of its
 * own, of which some are complete in any call. What a call returns is started again at once.
 * Asserted: in CALLS calls, no complete request is passed over too often in favour of others. */

#define ALL (EARLY + 1) /* the last one stands for the library's */
#define LIBRARY EARLY

byte since[ALL];      /* when it was started, in starts */
bool passed[ALL];     /* over, by one of the library's */
byte waits[ALL];      /* calls that have given others meanwhile */
byte starts, calls;
bool has;             /* the library, in this call */

init {
  byte i, oldest, given;
  atomic {
    i = 0;
    do
    :: i < EARLY -> starts++; since[i] = starts; i++
    :: else -> break
    od
  };
  do
  :: calls < CALLS ->
    atomic {
      if
      :: has = true
      :: has = false
      fi;
      oldest = 0;
      i = 1;
      do
#ifndef BREAK_FIRST_EARLY
      :: i < EARLY -> if :: since[i] < since[oldest] -> oldest = i :: else fi; i++
#endif
      :: else -> break
      od;
      if
#ifdef BREAK_EARLY_FIRST
      :: true -> given = oldest
#else
#ifndef BREAK_LIBRARY_FIRST
      :: passed[oldest] -> given = oldest
#endif
      :: else -> if :: has -> given = LIBRARY; passed[oldest] = true :: else -> given = oldest fi
#endif
      fi;
      i = 0;
      do
      :: i < ALL ->
        if
        :: i == given -> waits[i] = 0
        :: i == LIBRARY && !has -> waits[i] = 0
        :: else -> waits[i]++
        fi;
        assert(waits[i] <= 2 * EARLY);
        i++
      :: else -> break
      od;
      assert(waits[LIBRARY] <= 1);
      if
      :: given < EARLY -> starts++; since[given] = starts; passed[given] = false
      :: else
      fi;
      calls++
    }
  :: else -> break
  od
}
